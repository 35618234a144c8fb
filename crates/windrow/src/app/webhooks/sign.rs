//! HMAC-SHA256 over id, time and body, so that neither can be exchanged and an old message is known as old.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::app::webhooks::secret;

/// The value of `webhook-signature`: one signature per secret that is valid now.
pub fn signatures(secrets: &[String], id: &str, timestamp_s: i64, body: &str) -> String {
    let signed = format!("{id}.{timestamp_s}.{body}");
    let signature = |secret: &String| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret::key(secret));
        format!("v1,{}", STANDARD.encode(hmac::sign(&key, signed.as_bytes())))
    };
    secrets.iter().map(signature).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_of_the_standard() {
        // The example of the specification's libraries.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let (id, time, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let secret = secret.to_owned();
        assert_eq!(signatures(std::slice::from_ref(&secret), id, time, body), expected);
        let both = signatures(&[secret, "whsec_AAAA".to_owned()], id, time, body);
        assert!(both.starts_with(&format!("{expected} v1,")) && both.len() > expected.len() + 40);
    }
}
