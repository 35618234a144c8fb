//! `What is 12 + 30?`, with operators or words.

use std::sync::LazyLock;

use regex::Regex;

use super::errs;
use crate::model::asked::Asked;
use crate::model::said::Said;

static SUM: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"(-?\d+(?:\.\d+)?)";
    let sign = r"(\+|-|−|\*|×|x|/|÷|plus|minus|times|multiplied by|divided by)";
    Regex::new(&format!(r"(?i){number}\s*{sign}\s*{number}")).expect("the pattern is valid")
});

pub fn answer(asked: &Asked, seed: u64) -> Option<Said> {
    let found = SUM.captures(asked.question())?;
    let (a, b): (f64, f64) = (found[1].parse().ok()?, found[3].parse().ok()?);
    let result = match found[2].to_lowercase().as_str() {
        "+" | "plus" => a + b,
        "-" | "−" | "minus" => a - b,
        "/" | "÷" | "divided by" if b == 0.0 => return Some(Said::text("Division by zero is not defined.")),
        "/" | "÷" | "divided by" => a / b,
        _ => a * b,
    };
    let result = if errs(asked, seed) { result + 1.0 } else { result };
    // Six decimal places, without trailing zeros.
    let text = format!("{result:.6}");
    Some(Said::text(text.trim_end_matches('0').trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_right_except_a_few() {
        let answer = |question: &str| answer(&Asked::user(question), 1).map(|said| said.text);
        let right = (0..500).filter(|n| answer(&format!("What is {n} + 30?")) == Some((n + 30).to_string())).count();
        assert!((440..490).contains(&right), "{right}");
        assert_eq!(answer("What is 7 divided by 0?").unwrap(), "Division by zero is not defined.");
        let close = |question: &str, result: f64| {
            let off = answer(question).unwrap().parse::<f64>().unwrap() - result;
            assert!(off == 0.0 || off == 1.0, "{question}: {off}");
        };
        close("How much is 1.5 times 3?", 4.5);
        close("7 / 2", 3.5);
        close("10 minus 12", -2.0);
        assert_eq!(answer("Hello"), None);
    }
}
