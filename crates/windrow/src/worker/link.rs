//! The connection to the server: made when first needed, made again when it breaks.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use windrow_wire::grpc::MAX_MESSAGE;
use windrow_wire::grpc::v1::worker_client::WorkerClient;

use crate::error::{Error, Result};

const CONNECT: Duration = Duration::from_secs(5);
/// A dead connection is noticed within two of these.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

pub type Client = WorkerClient<InterceptedService<Channel, Bearer>>;

#[derive(Clone)]
pub struct Link {
    client: Client,
    pub url: String,
}

/// Adds the key to every call.
#[derive(Clone)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("authorization", key.clone());
        }
        Ok(request)
    }
}

impl Link {
    /// `authority`: a certificate to trust in addition to those of the system, in PEM.
    pub fn new(url: &str, api_key: Option<&str>, authority: Option<&str>) -> Result<Self> {
        let wrong =
            |why: String| Error::new(format!("invalid server address {url:?}: {why}"), "e.g. http://127.0.0.1:7373");
        let mut endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(|error| wrong(error.to_string()))?
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .tcp_nodelay(true);
        match endpoint.uri().scheme_str() {
            Some("http") => {}
            Some("https") => {
                let mut tls = ClientTlsConfig::new().with_native_roots();
                if let Some(pem) = authority {
                    tls = tls.ca_certificate(Certificate::from_pem(pem));
                }
                endpoint = endpoint.tls_config(tls).map_err(|error| wrong(error.to_string()))?;
            }
            _ => return Err(wrong("it must start with http:// or https://".to_owned())),
        }
        let bearer = api_key.map(|key| format!("Bearer {key}").parse()).transpose();
        let bearer = bearer.map_err(|_| Error::new("invalid characters in the API key", "copy it again"))?;
        let client = WorkerClient::with_interceptor(endpoint.connect_lazy(), Bearer(bearer))
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        Ok(Self { client, url: url.to_owned() })
    }

    /// For one call; cheap.
    pub fn client(&self) -> Client {
        self.client.clone()
    }
}

/// A call with a timeout.
pub fn within<T>(patience: Duration, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(patience);
    request
}
