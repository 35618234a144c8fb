//! Server-sent events. After a broken connection the reader reconnects after the last event it saw.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;
use windrow_wire::Event;

use crate::client::remote::Remote;
use crate::error::{Code, Error, Result};

/// A server sends a keep-alive every 15 s.
const SILENT_AT_MOST: Duration = Duration::from_secs(45);

#[derive(Debug)]
pub enum Happened {
    Event(Box<Event>),
    /// The server closed the stream, or sends nothing.
    Ended,
}

pub struct Events {
    remote: Remote,
    answer: Response,
    text: Vec<u8>,
}

impl Remote {
    /// Events of a job from now on, or after one that was seen.
    pub async fn events(&self, job: &str, after: Option<i64>) -> Result<Events> {
        let answer = self.open(&["jobs", job, "events"], &[("after", after)]).await?;
        Ok(Events { remote: self.clone(), answer, text: Vec::new() })
    }
}

impl Events {
    pub async fn next(&mut self) -> Result<Happened> {
        loop {
            while let Some(line) = take_line(&mut self.text) {
                // The data has the id too, and comments are keep-alives.
                if let Some(data) = line.strip_prefix("data:") {
                    return Ok(Happened::Event(Box::new(read(data.trim())?)));
                }
            }
            match timeout(SILENT_AT_MOST, self.remote.piece(&mut self.answer)).await {
                Ok(piece) => match piece? {
                    Some(piece) => self.text.extend_from_slice(piece.as_ref()),
                    None => return Ok(Happened::Ended),
                },
                Err(_) => return Ok(Happened::Ended),
            }
        }
    }
}

fn read(data: &str) -> Result<Event> {
    serde_json::from_str(data).map_err(|error| {
        let what = format!("invalid event of the server: {error}");
        Error::new(what, "use the same version on both sides").coded(Code::Failed)
    })
}

fn take_line(text: &mut Vec<u8>) -> Option<String> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line: Vec<u8> = text.drain(..=end).collect();
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_whole_however_they_arrive() {
        let mut text = b"id: 7\ndata: {\"a".to_vec();
        assert_eq!(take_line(&mut text).as_deref(), Some("id: 7"));
        assert_eq!(take_line(&mut text), None);
        text.extend_from_slice(b"\": 1}\r\n\n");
        assert_eq!(take_line(&mut text).as_deref(), Some("data: {\"a\": 1}"));
        assert_eq!(take_line(&mut text).as_deref(), Some(""));
    }
}
