//! `prices:` in a job file: what models cost, where our table does not know or does not fit.

use windrow_jobfile::diagnostics::{Problem, Problems};
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::prices::{DATED, PriceList, Prices};
use windrow_model::Json;

use crate::target::has_price;

pub struct PricesSection {
    pub own: PriceList,
    /// With those of the environment and of our table.
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

/// One warning for all models whose cost will read as nothing.
pub fn unknown(prices: &Prices, spec: &Json) -> Option<String> {
    let unknown = prices.unknown_in(&spec.value(), &has_price);
    let list = unknown.into_iter().map(|model| format!("`{model}`")).collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then(|| {
        format!(
            "the cost of {list} is not known and counts as 0 (table of {DATED}); add it to the job file: \
             prices: {{ \"MODEL\": {{ input: 0.5, output: 1.5 }} }}, in dollars per million tokens"
        )
    })
}
