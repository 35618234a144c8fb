//! Standard input of an online run, line by line.

use std::io::BufRead;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::app::items::BATCH;
use crate::error::{Error, Result};

/// Read on a separate thread that is never joined: a read that does not end must not delay the exit.
pub fn lines() -> mpsc::Receiver<String> {
    let (lines, received) = mpsc::channel(BATCH);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    received
}

/// The error with which feeding ended. Reading to the end of the input is not an error: then this never returns.
pub async fn broken(feeding: &mut JoinHandle<Result<()>>) -> Error {
    match feeding.await {
        Ok(Err(error)) => error,
        Ok(Ok(())) => std::future::pending().await,
        Err(panic) => Error::new(format!("reading the input failed: {panic}"), "please report this"),
    }
}
