//! The age of the bundled price table, and whether the price file can be read.

use windrow_jobfile::Environment;
use windrow_jobfile::prices::{PriceList, Prices, dated};

use crate::app::doctor::{Check, Patient};

const NAME: &str = "prices";
const MONTHS: i64 = 12;

pub fn check(patient: &Patient<'_>) -> Check {
    let environment: Environment = patient.options.environment();
    if let Err(wrong) = Prices::new(PriceList::new(), &environment) {
        return Check::failure(NAME, wrong, "correct the file, or pass another with --prices FILE");
    }
    let today = windrow_wire::Timestamp::from(patient.now).to_string();
    let age = month(&today).zip(month(dated())).map_or(0, |(now, then)| now - then);
    let own = patient.options.prices.as_ref().map(|path| format!("{} and ", path.display())).unwrap_or_default();
    let finding = format!("{own}bundled table of {}", dated());
    match age > MONTHS && patient.options.prices.is_none() {
        true => Check::warning(
            NAME,
            format!("{finding}, {age} months old: costs may be wrong"),
            "use a newer version of windrow, or pass a price file with --prices FILE",
        ),
        false => Check::ok(NAME, finding),
    }
}

/// `2025-11…` as a number of months.
fn month(date: &str) -> Option<i64> {
    Some(date.get(..4)?.parse::<i64>().ok()? * 12 + date.get(5..7)?.parse::<i64>().ok()?)
}
