//! Which report, and where it goes.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::app::report::Format;

/// `junit=out.xml`
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub format: Format,
    /// `None`: stdout.
    pub path: Option<PathBuf>,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &[Format::Junit, Format::Markdown, Format::Json]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Format::Junit => {
                PossibleValue::new("junit").help("JUnit XML: one suite per evaluator, and one for the gates")
            }
            Format::Markdown => PossibleValue::new("markdown").help("Markdown, fit for a comment on a pull request"),
            Format::Json => PossibleValue::new("json").help("The object that `windrow run --json` prints"),
        })
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, path) = text.split_once('=').ok_or("must be FORMAT=FILE, e.g. junit=out.xml")?;
        let known = "use one of junit, markdown and json";
        let format = Format::from_str(format, true).map_err(|_| format!("unknown format {format:?}; {known}"))?;
        if path.is_empty() {
            return Err("the file name is missing, e.g. junit=out.xml".to_owned());
        }
        Ok(Self { format, path: Some(path.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_named_by_format_and_file() {
        let target: Target = "junit=out=1.xml".parse().unwrap();
        assert_eq!(target, Target { format: Format::Junit, path: Some("out=1.xml".into()) });
        for wrong in ["junit", "junit=", "html=x"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
