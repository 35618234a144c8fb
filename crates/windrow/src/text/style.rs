//! Six roles of colour, and signs. Text is always painted; [`super::output`] removes the colours where
//! they are not wanted (not a terminal, `NO_COLOR`, `--color never`) and the signs where the locale is not UTF-8.

use std::fmt::Display;
use std::sync::LazyLock;

use anstream::ColorChoice;

pub const OK: &str = "✓";
pub const FAILED: &str = "✗";
pub const WARNING: &str = "!";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn apply(self) {
        match self {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

fn paint(code: &str, text: impl Display) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Job names and headlines.
pub fn bold(text: impl Display) -> String {
    paint("1", text)
}

pub fn green(text: impl Display) -> String {
    paint("32", text)
}

pub fn red(text: impl Display) -> String {
    paint("31", text)
}

pub fn yellow(text: impl Display) -> String {
    paint("33", text)
}

/// Commands.
pub fn cyan(text: impl Display) -> String {
    paint("36", text)
}

/// Ids, headers, labels, intervals, times.
pub fn dim(text: impl Display) -> String {
    paint("2", text)
}

/// A status, verdict or result in the colour of its meaning.
pub fn status(word: &str) -> String {
    let first = word.trim().split([' ', ':']).next().unwrap_or_default().to_ascii_lowercase();
    match first.as_str() {
        "success" | "succeeded" | "completed" | "passed" | "pass" | "rollback_success" | "delivered" | "improved" => {
            green(word)
        }
        "fail" | "failed" | "error" | "partial_fail" | "rollback_fail" | "regressed" | "refused" | "lost" => red(word),
        "paused" | "inconclusive" | "conflict" | "partial" | "terminated" | "system_terminated" | "cancel"
        | "cancelled" => yellow(word),
        "unclear" => dim(word),
        _ => word.to_owned(),
    }
}

/// Paints `error:`, `warning:`, `note:`, `help:` and `next:` where they start a line, and the gutter and carets of a
/// line of a file.
pub fn labels(text: &str) -> String {
    let line = |line: &str| {
        let number = line
            .find(" |")
            .map(|end| end + 2)
            .filter(|end| line[..end - 2].chars().all(|c| c == ' ' || c.is_ascii_digit()));
        if let Some(gutter) = number {
            let (gutter, rest) = line.split_at(gutter);
            let marked = rest.trim_start().starts_with('^');
            return format!("{}{}", dim(gutter), if marked { cyan(rest) } else { rest.to_owned() });
        }
        let start = line.len() - line.trim_start().len();
        let (indent, rest) = line.split_at(start);
        let Some((label, after)) = rest.split_once(':') else { return line.to_owned() };
        match label {
            "error" => format!("{indent}{}{after}", red("error:")),
            "warning" => format!("{indent}{}{after}", yellow("warning:")),
            "note" => format!("{indent}{}{after}", yellow("note:")),
            "help" => format!("{indent}{}{after}", cyan("help:")),
            "next" => format!("{indent}{} {}", dim("next:"), cyan(after.trim_start())),
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// False where the environment names a locale, and that is not UTF-8.
pub fn is_utf8() -> bool {
    static UTF8: LazyLock<bool> = LazyLock::new(|| {
        let named = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| std::env::var(name).ok());
        let locale = named.into_iter().find(|value| !value.is_empty());
        locale.is_none_or(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
    });
    *UTF8
}

pub fn ascii(text: &str) -> String {
    let signs = [
        ("✓", "ok"),
        ("✗", "FAIL"),
        ("·", "-"),
        ("→", "->"),
        ("…", "..."),
        ("–", "-"),
        ("×", "x"),
        ("±", "+/-"),
        ("├─", "|-"),
        ("└─", "`-"),
        ("│", "|"),
        ("─", "-"),
        ("┌", "+"),
        ("┐", "+"),
        ("└", "+"),
        ("┘", "+"),
    ];
    signs.iter().fold(text.to_owned(), |text, (sign, plain)| text.replace(sign, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_never_the_only_carrier_of_meaning() {
        for word in ["success", "FAILED", "inconclusive: the interval includes 0.9", "pending"] {
            assert_eq!(anstream::adapter::strip_str(&status(word)).to_string(), word);
        }
        let painted = labels("error: it failed\n  help: try this\nnot: a label");
        assert_eq!(
            anstream::adapter::strip_str(&painted).to_string(),
            "error: it failed\n  help: try this\nnot: a label"
        );
        assert_eq!(ascii("✓ a → b · c…"), "ok a -> b - c...");
    }
}
