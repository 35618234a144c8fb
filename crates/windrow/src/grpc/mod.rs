//! gRPC, on the same port as HTTP: the trigger of the scheduler and the protocol of workers elsewhere,
//! with the standard services for health and reflection. Each service is a thin layer over the engine.

mod caller;
mod register;
mod scheduler;
mod speak;
mod status;
mod worker;

use std::sync::Arc;

use axum::Router;
use tonic::server::NamedService;
use windrow_wire::grpc::v1::scheduler_server::SchedulerServer;
use windrow_wire::grpc::v1::worker_server::WorkerServer;
use windrow_wire::grpc::{DESCRIPTORS, MAX_MESSAGE};

pub use speak::speak;

use crate::http::Server;

/// A service that there is not falls through to HTTP, whose 404 becomes UNIMPLEMENTED.
pub fn router<S: Clone + Send + Sync + 'static>(server: &Arc<Server>) -> Router<S> {
    let worker = WorkerServer::new(worker::Workers::new(server.clone()))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("descriptors that were compiled with the program are whole");
    let scheduler = SchedulerServer::new(scheduler::Trigger::new(server.clone()));
    let health = tonic_health::server::health_reporter().1;
    Router::new()
        .route_service(&path_of(&worker), worker)
        .route_service(&path_of(&scheduler), scheduler)
        .route_service(&path_of(&health), health)
        .route_service(&path_of(&reflection), reflection)
}

fn path_of<S: NamedService>(_service: &S) -> String {
    format!("/{}/{{method}}", S::NAME)
}
