//! gRPC, on the same port as HTTP: the scheduler's trigger and the protocol of remote workers, with the standard
//! services for health and reflection. Each service is a thin layer over the engine.

mod caller;
mod register;
mod scheduler;
mod status;
mod translate;
mod worker;

use std::sync::Arc;

use axum::Router;
use tonic::server::NamedService;
use windrow_wire::grpc::v1::scheduler_server::SchedulerServer;
use windrow_wire::grpc::v1::worker_server::WorkerServer;
use windrow_wire::grpc::{DESCRIPTORS, MAX_MESSAGE};

use crate::app::{App, Running};

pub use translate::translate;

/// An unknown service falls through to HTTP, whose 404 becomes UNIMPLEMENTED.
pub fn router<S: Clone + Send + Sync + 'static>(app: &App, running: &Arc<Running>) -> Router<S> {
    let worker = WorkerServer::new(worker::Workers::new(app.clone(), running.clone()))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .expect("descriptors that were compiled with the program are whole");
    let scheduler = SchedulerServer::new(scheduler::Trigger::new(app.clone(), running.clone()));
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
