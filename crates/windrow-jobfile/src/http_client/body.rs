//! Bodies of answers, as much of them as is sensible.

/// No answer is this long; an endless one must not fill the memory.
pub const MAX_BODY: usize = 32 * 1024 * 1024;

/// Reads no more than the limit; what is beyond makes the body unparsable, and so the answer invalid.
pub async fn read_body(reply: reqwest::Response) -> Result<String, reqwest::Error> {
    let body = read_bytes(reply).await?;
    Ok(String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

pub async fn read_bytes(mut reply: reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::with_capacity(reply.content_length().unwrap_or(1024).min(MAX_BODY as u64) as usize);
    while let Some(chunk) = reply.chunk().await? {
        if body.len() + chunk.len() > MAX_BODY {
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
