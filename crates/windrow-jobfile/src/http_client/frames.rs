//! A streamed body as the messages in it: server-sent events, or one JSON text per line.

use super::body::MAX_BODY;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Events,
    Lines,
}

/// Bytes in, messages out; a message may be spread over many chunks.
pub struct Frames {
    framing: Framing,
    buffer: Vec<u8>,
    /// The `data:` lines of the event at hand.
    data: Vec<String>,
    taken: usize,
}

impl Frames {
    pub fn new(framing: Framing) -> Self {
        Self { framing, buffer: Vec::new(), data: Vec::new(), taken: 0 }
    }

    /// The messages that are whole now; `None` when the stream is longer than any answer.
    pub fn take(&mut self, chunk: &[u8]) -> Option<Vec<String>> {
        self.taken += chunk.len();
        if self.taken > MAX_BODY {
            return None;
        }
        self.buffer.extend_from_slice(chunk);
        let mut messages = Vec::new();
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            messages.extend(self.line(line.trim_end_matches(['\r', '\n'])));
        }
        Some(messages)
    }

    /// What is left when the stream has ended without a last line break.
    pub fn rest(mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).trim_end().to_owned();
        self.line(&line).or_else(|| self.line(""))
    }

    fn line(&mut self, line: &str) -> Option<String> {
        match self.framing {
            Framing::Lines => (!line.trim().is_empty()).then(|| line.to_owned()),
            Framing::Events if line.is_empty() => {
                let data = std::mem::take(&mut self.data);
                (!data.is_empty()).then(|| data.join("\n"))
            }
            Framing::Events => {
                if let Some(data) = line.strip_prefix("data:") {
                    self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let events = "event: a\r\ndata: {\"é\":1}\r\n\r\n: comment\ndata: two\ndata: lines\n\ndata: last";
        for size in [1, 2, 7, 1000] {
            let mut frames = Frames::new(Framing::Events);
            let mut found: Vec<String> =
                events.as_bytes().chunks(size).flat_map(|chunk| frames.take(chunk).unwrap()).collect();
            found.extend(frames.rest());
            assert_eq!(found, ["{\"é\":1}", "two\nlines", "last"]);
        }
        let mut frames = Frames::new(Framing::Lines);
        assert_eq!(frames.take(b"{}\n\n{\"a\"").unwrap(), ["{}"]);
        assert_eq!(frames.rest().as_deref(), Some("{\"a\""));
    }
}
