//! Streams an answer: half of the latency passes before the first chunk.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::stream;

pub fn body(pieces: Vec<String>, latency: Duration) -> Body {
    let pause = latency / 2 / pieces.len().max(1) as u32;
    let paced = pieces.into_iter().enumerate().map(move |(no, piece)| {
        let wait = if no == 0 { latency / 2 } else { pause };
        (wait, piece)
    });
    Body::from_stream(stream::unfold(paced, |mut rest| async move {
        let (wait, piece) = rest.next()?;
        tokio::time::sleep(wait).await;
        Some((Ok::<_, Infallible>(Bytes::from(piece)), rest))
    }))
}

/// A broken body: the server closes the connection in the middle of the answer.
pub fn broken() -> Body {
    let start = stream::iter([Ok(Bytes::from_static(b"{")), Err("injected reset")]);
    Body::from_stream(start)
}

/// Words with their preceding white space; joining them gives the original text.
pub fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let end = rest[word..].find(char::is_whitespace).map_or(rest.len(), |end| word + end);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text() {
        for text in ["", "one", " a  b\nc ", "é è"] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("It is Paris."), ["It", " is", " Paris."]);
    }
}
