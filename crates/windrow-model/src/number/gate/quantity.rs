//! Amounts as a person writes them in a gate: `0.9`, `80%`, `2s`, `$5`, `1M`.

/// What kind of thing a measure is, and so which units its bound may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A score or share: a number or a percentage.
    Score,
    /// A number of things; a percentage asks for their share.
    Count,
    /// A count without a whole to be a share of.
    Total,
    /// In milliseconds.
    Time,
    /// In dollars.
    Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Number,
    Share,
    Milliseconds,
    Dollars,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    pub value: f64,
    pub unit: Unit,
}

/// `$`, number, suffix. The rest of the text is left to the caller.
pub fn split(text: &str) -> (bool, &str, &str) {
    let (dollars, text) = match text.strip_prefix('$') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | ','))).unwrap_or(text.len());
    let suffix = &text[end..];
    let suffix_end = suffix.find(|c: char| !(c.is_ascii_alphabetic() || c == '%')).unwrap_or(suffix.len());
    (dollars, &text[..end], &suffix[..suffix_end])
}

impl Quantity {
    /// `Err` says what would be right.
    pub fn read(text: &str, dimension: Dimension) -> Result<Self, &'static str> {
        let (dollars, digits, suffix) = split(text);
        let wanted = dimension.examples();
        let plain: String = digits.chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let number: f64 = plain.parse().map_err(|_| wanted)?;
        let (scale, unit) = match (dimension, dollars, suffix) {
            (Dimension::Score, false, "") => (1.0, Unit::Number),
            (Dimension::Score | Dimension::Count, false, "%") => (0.01, Unit::Share),
            (Dimension::Count | Dimension::Total, false, "") => (1.0, Unit::Number),
            (Dimension::Count | Dimension::Total, false, "k" | "K") => (1e3, Unit::Number),
            (Dimension::Count | Dimension::Total, false, "M") => (1e6, Unit::Number),
            (Dimension::Time, false, "ms") => (1.0, Unit::Milliseconds),
            (Dimension::Time, false, "s") => (1e3, Unit::Milliseconds),
            (Dimension::Time, false, "m" | "min") => (60e3, Unit::Milliseconds),
            (Dimension::Time, false, "h") => (3600e3, Unit::Milliseconds),
            (Dimension::Money, _, "") => (1.0, Unit::Dollars),
            _ => return Err(wanted),
        };
        // Division keeps 80% the number that 0.8 is.
        let value = if scale == 0.01 { number / 100.0 } else { number * scale };
        Ok(Self { value, unit })
    }
}

impl Dimension {
    pub fn examples(self) -> &'static str {
        match self {
            Dimension::Score => "write a number or a percentage, like 0.9 or 90%",
            Dimension::Count => "write a count or a share, like 0, 5 or 1%",
            Dimension::Total => "write a count, like 5000, 20k or 1M",
            Dimension::Time => "write a length of time with its unit, like 500ms, 2s or 1m",
            Dimension::Money => "write an amount of dollars, like $5 or $0.25",
        }
    }

    /// The unit of a value where no bound says otherwise.
    pub fn unit(self) -> Unit {
        match self {
            Dimension::Score | Dimension::Count | Dimension::Total => Unit::Number,
            Dimension::Time => Unit::Milliseconds,
            Dimension::Money => Unit::Dollars,
        }
    }
}

impl Unit {
    /// As a person reads it.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Number if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
            Unit::Number => format!("{value:.4}").trim_end_matches('0').to_owned(),
            Unit::Share => {
                let text = format!("{:.2}", value * 100.0);
                format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Unit::Milliseconds if value < 1000.0 => format!("{value:.0} ms"),
            Unit::Milliseconds => format!("{:.2} s", value / 1000.0),
            Unit::Dollars => format!("${value:.4}"),
        }
    }
}
