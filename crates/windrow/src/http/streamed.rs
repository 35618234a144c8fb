//! An answer written piece by piece while it is read. If writing fails, the connection breaks, so that no client
//! takes a part for the whole; if the reader goes away, writing ends.

use std::future::Future;
use std::io;

use axum::body::Body;
use futures::StreamExt;
use tokio::io::DuplexStream;
use tokio_util::io::ReaderStream;

/// Written ahead of the reader.
const AHEAD: usize = 64 << 10;

pub fn body<F>(work: impl FnOnce(DuplexStream) -> F) -> Body
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let (writer, reader) = tokio::io::duplex(AHEAD);
    let writing = tokio::spawn(work(writer));
    let ending = futures::stream::once(async move {
        let ended = writing.await.map_err(io::Error::other).and_then(|ended| ended);
        ended.err().map(|error| {
            tracing::warn!(%error, "failed to write a streamed response");
            Err(error)
        })
    });
    Body::from_stream(ReaderStream::new(reader).chain(ending.filter_map(futures::future::ready)))
}
