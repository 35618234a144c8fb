//! `windrow agreement`

use windrow_wire::{AgreementView, EvaluatorAgreement};

use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Exit, Result};
use crate::text;

/// Show how far evaluators agree with people
///
/// Uses the rows that people labelled (`windrow label`).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Job name or id
    job: String,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
}

pub async fn perform(api: &Api, args: Args) -> Result<Exit> {
    let found = api.agreement(&args.job).await?;
    output::show(&found, args.json);
    if !args.json && found.evaluators.is_empty() {
        output::next(&[api.command(&format!("label {} --next", args.job))]);
    }
    Ok(Exit::Passed)
}

impl Show for AgreementView {
    fn text(&self) -> String {
        let mut page = format!("{} of {} reviewed by people", text::plural(self.reviewed, "row"), self.job);
        if self.outdated > 0 {
            page += &format!("; {} left out, because the output has changed", text::count(self.outdated));
        }
        if self.evaluators.is_empty() {
            return page + "\n";
        }
        let rows = self.evaluators.iter().map(row).collect();
        let headings =
            ["EVALUATOR", ">N", ">ACCURACY [95% CI]", ">KAPPA", ">ALPHA", ">WRONG PASS", ">WRONG FAIL", ">PASS MARK"];
        page += &format!("\n\n{}", output::table(&headings, rows));
        for found in &self.evaluators {
            let Some(best) = found.threshold else { continue };
            let (mark, share) = (format!("{:.3}", best.value), text::percent(best.accuracy));
            page += &format!("\n{}: a pass mark of {mark} would agree on {share} of these rows\n", found.name);
        }
        page
    }
}

fn row(found: &EvaluatorAgreement) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let range = found.accuracy_interval;
    let range = range.map_or(String::new(), |i| format!(" [{}, {}]", text::percent(i.low), text::percent(i.high)));
    vec![
        found.name.clone(),
        text::count(found.n),
        found.accuracy.map_or("–".to_owned(), |share| text::percent(share) + &range),
        number(found.kappa),
        number(found.alpha),
        text::count(found.confusion.only_evaluator),
        text::count(found.confusion.only_person),
        found.threshold.map_or("–".to_owned(), |best| format!("{:.3}", best.value)),
    ]
}
