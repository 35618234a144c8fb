//! `prices:` in a job file: what models cost, where the bundled table does not know them or does not fit.

use std::ops::Range;

use windrow_jobfile::diagnostics::{Problem, Problems};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::prices::{PriceList, Prices, dated};
use windrow_model::Json;

use crate::target::has_price;

pub struct PricesSection {
    pub own: PriceList,
    /// With those of the environment and of the bundled table.
    pub all: Prices,
}

pub fn read(section: Option<Section>, environment: &Environment, problems: &mut Problems) -> Option<PricesSection> {
    let own: PriceList = match &section {
        Some(section) => section.read(&[], problems)?,
        None => PriceList::new(),
    };
    if let Some(section) = &section {
        for (model, _) in own.iter().filter(|(_, price)| !price.is_sane()) {
            let message = format!("`prices.{model}`: a price is a number of dollars per million tokens");
            problems.add(section.span_of(model), message, "for example: { input: 0.5, output: 1.5 }");
        }
    }
    match Prices::new(own.clone(), environment) {
        Ok(all) => Some(PricesSection { own, all }),
        Err(wrong) => {
            let help = "correct the file: a map of models, each like { input: 0.5, output: 1.5 }";
            problems.push(Problem::new(wrong, help));
            None
        }
    }
}

/// The models without a price, as a list to read; `None`: all have one.
pub fn unknown(prices: &Prices, spec: &Json) -> Option<String> {
    let unknown = prices.unknown_in(&spec.value(), &has_price);
    let list = unknown.into_iter().map(|model| format!("`{model}`")).collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then_some(list)
}

/// Without a budget in money, a warning: the cost reads as nothing. With one, an error: it would protect from nothing.
pub fn check(unknown: Option<String>, budget: Option<Range<usize>>, problems: &mut Problems) -> Option<String> {
    let (list, table) = (unknown?, dated());
    let Some(budget) = budget else {
        return Some(format!("the cost of {list} is unknown and counts as 0 (table of {table}); {REMEDY}"));
    };
    let message = format!("`budget.cost` cannot be kept: the price of {list} is unknown (table of {table})");
    problems.add(budget, message, REMEDY);
    None
}

pub const REMEDY: &str = "set its price in the job file, in US dollars per million tokens: \
                          prices: { \"MODEL\": { input: 0.5, output: 1.5 } }";
