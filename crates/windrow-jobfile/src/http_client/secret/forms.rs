//! The clothes in which a secret may come back: escaped in JSON or HTML, percent-encoded, in hex, or
//! inside of something that was encoded in base64.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Fewer characters than this are found in ordinary text too.
const SHORTEST_CODE: usize = 8;

pub fn forms_of(secret: &str) -> Vec<String> {
    let quoted = serde_json::to_string(secret).expect("text serialises to JSON");
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let mut forms = vec![
        secret.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        // Some writers escape the slash too.
        quoted[1..quoted.len() - 1].replace('/', "\\/"),
        html,
        percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte), false),
        percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte), true),
        // As forms are sent, and as JavaScript's encodeURIComponent does it.
        percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte), false).replace("%20", "+"),
        percent(secret, |byte| byte.is_ascii_alphanumeric() || b"-._~!*'()".contains(&byte), false),
        secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
        secret.bytes().map(|byte| format!("{byte:02X}")).collect(),
    ];
    for shift in 0..3 {
        forms.extend(inside_base64(secret.as_bytes(), shift));
    }
    forms
}

fn percent(secret: &str, plain: impl Fn(u8) -> bool, lower: bool) -> String {
    let encode = |byte: u8| match (plain(byte), lower) {
        (true, _) => char::from(byte).to_string(),
        (false, false) => format!("%{byte:02X}"),
        (false, true) => format!("%{byte:02x}"),
    };
    secret.bytes().map(encode).collect()
}

/// What base64 shows of the secret when this many bytes (modulo three) precede it: the characters
/// that depend on the secret alone, whatever is around it.
fn inside_base64(secret: &[u8], shift: usize) -> Vec<String> {
    let padded = [&b"\0\0"[..shift], secret].concat();
    // A character carries six bits. The first ones may share bits with what comes before, the last one
    // with what comes after.
    let first = (shift * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    let cut = |code: String| code.get(first..end).map(str::to_owned);
    let codes = [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)];
    codes.into_iter().filter_map(cut).filter(|code| code.len() >= SHORTEST_CODE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_anything_around_the_secret_shows_one_of_its_forms() {
        let secret = "pass/word+1?>";
        let forms = forms_of(secret);
        for before in ["", "u", "us", "use", "user:"] {
            for after in ["", "!", "!!", "!!!"] {
                let whole = format!("{before}{secret}{after}");
                for code in [STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                    assert!(forms.iter().any(|form| code.contains(form.as_str())), "{whole}: {code}");
                }
            }
        }
    }

    #[test]
    fn other_encodings_are_known_too() {
        let forms = forms_of("a b/c\"d&e-~é");
        for form in ["a%20b%2Fc%22d%26e-~%C3%A9", "a%20b%2fc%22d%26e-~%c3%a9", "a+b%2Fc%22d%26e-%7E%C3%A9"] {
            assert!(forms.iter().any(|known| known == form), "{form}");
        }
        assert!(forms.iter().any(|known| known == "a b/c\\\"d&e-~é"));
        assert!(forms.iter().any(|known| known == "a b/c&quot;d&amp;e-~é"));
        assert!(forms.iter().any(|known| known.starts_with("6120622f63")));
    }
}
