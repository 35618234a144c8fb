//! The secret that a receiver checks signatures with: `whsec_` and base64, as Standard Webhooks has it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{Error, Result};

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;

pub fn mint() -> Result<String> {
    let mut bytes = [0; BYTES];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::new("the system gives no random numbers", "try again, or look at its log"))?;
    Ok(format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// The bytes that sign.
pub fn key(secret: &str) -> Vec<u8> {
    let text = secret.strip_prefix(PREFIX).unwrap_or(secret);
    STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())
}
