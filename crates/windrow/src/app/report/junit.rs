//! JUnit XML. One suite per evaluator with a case per item and turn, one for the items themselves,
//! one for the gates. The store is read once, page by page. The head of the document counts all cases, so that
//! they wait for it: in memory while they are few, in temporary files otherwise.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufWriter, Read, Seek, Write as _};

use tempfile::SpooledTempFile;
use tokio::io::AsyncWriteExt;
use windrow_model::gate::GateVerdict;
use windrow_model::record::ItemResult;
use windrow_model::state::Outcome;
use windrow_model::step::{Score, Verdict};
use windrow_model::trace::TraceId;

use crate::app::App;
use crate::app::report::{Out, Result, put};
use crate::app::results::Assessment;

const PAGE: usize = 1000;
/// Of a suite in memory.
const FEW_BYTES: usize = 1 << 20;
const PIECE_BYTES: usize = 64 << 10;

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    tests: i64,
    failures: i64,
    errors: i64,
    skipped: i64,
}

impl Counts {
    fn add(&mut self, verdict: Verdict) {
        self.tests += 1;
        match verdict {
            Verdict::Pass => {}
            Verdict::Fail => self.failures += 1,
            Verdict::Error => self.errors += 1,
            Verdict::Skipped => self.skipped += 1,
        }
    }

    fn attributes(&self) -> String {
        let Counts { tests, failures, errors, skipped } = self;
        format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
    }
}

pub async fn write(app: &App, assessed: &Assessment, out: Out<'_>) -> Result<()> {
    let job = &assessed.job.name;
    let (items, evaluators) = suites(app, assessed).await?;
    let mut gates = Counts::default();
    assessed.gates.iter().for_each(|judged| gates.add(verdict_of_gate(judged.verdict)));
    let mut all = Counts::default();
    for counts in evaluators.values().chain([&items]).map(|suite| &suite.counts).chain([&gates]) {
        all.tests += counts.tests;
        all.failures += counts.failures;
        all.errors += counts.errors;
        all.skipped += counts.skipped;
    }
    let head = format!("<testsuites name={} {}>\n", quoted(job), all.attributes());
    put(out, &format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{head}")).await?;
    items.write(out).await?;
    for suite in evaluators.into_values() {
        suite.write(out).await?;
    }
    if !assessed.gates.is_empty() {
        put(out, &gate_suite(assessed, gates)).await?;
    }
    put(out, "</testsuites>\n").await
}

/// The suite of the items, and those of the evaluators by their names.
async fn suites(app: &App, assessed: &Assessment) -> Result<(Suite, BTreeMap<String, Suite>)> {
    let job = &assessed.job.name;
    let (mut items, mut evaluators) = (Suite::new(job, "items"), BTreeMap::<String, Suite>::new());
    let mut after = None;
    loop {
        let page = app.store.results(assessed.run.id, after, PAGE).await?;
        for result in &page {
            let trace = TraceId::of(assessed.run.id, result.item);
            items.add(verdict_of_item(result.outcome), &item_case(&items.class, result, trace))?;
            for score in &result.scores {
                if !evaluators.contains_key(&score.name) {
                    evaluators.insert(score.name.clone(), Suite::new(job, &score.name));
                }
                let suite = evaluators.get_mut(&score.name).expect("inserted above");
                suite.add(score.verdict, &score_case(&suite.class, result, score, trace))?;
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.item),
            _ => return Ok((items, evaluators)),
        }
    }
}

struct Suite {
    class: String,
    counts: Counts,
    cases: BufWriter<SpooledTempFile>,
}

impl Suite {
    fn new(job: &str, name: &str) -> Self {
        let cases = BufWriter::with_capacity(PIECE_BYTES, SpooledTempFile::new(FEW_BYTES));
        Self { class: format!("{job}.{name}"), counts: Counts::default(), cases }
    }

    fn add(&mut self, verdict: Verdict, case: &str) -> Result<()> {
        self.counts.add(verdict);
        Ok(self.cases.write_all(case.as_bytes())?)
    }

    async fn write(self, out: Out<'_>) -> Result<()> {
        let head = format!("  <testsuite name={} {}>\n", quoted(&self.class), self.counts.attributes());
        put(out, &head).await?;
        let mut cases = self.cases.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        cases.rewind()?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match cases.read(&mut piece)? {
                0 => break,
                read => out.write_all(&piece[..read]).await?,
            }
        }
        put(out, "  </testsuite>\n").await
    }
}

fn verdict_of_item(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Succeeded => Verdict::Pass,
        Outcome::Failed | Outcome::Retried | Outcome::Lost => Verdict::Error,
        Outcome::Cancelled | Outcome::Skipped => Verdict::Skipped,
    }
}

fn verdict_of_gate(verdict: GateVerdict) -> Verdict {
    match verdict {
        GateVerdict::Passed => Verdict::Pass,
        GateVerdict::Failed => Verdict::Fail,
        GateVerdict::Undecided => Verdict::Error,
    }
}

fn name_of(result: &ItemResult) -> String {
    format!("row {} (item {})", result.ordinal + 1, result.item)
}

fn item_case(class: &str, result: &ItemResult, trace: TraceId) -> String {
    let (kind, message) = match &result.error {
        Some((class, message)) => (class.as_str(), message.as_str()),
        None => ("", result.outcome.as_str()),
    };
    let seconds = result.latency_ms as f64 / 1000.0;
    case(class, &name_of(result), Some(seconds), verdict_of_item(result.outcome), kind, message, Some(trace))
}

fn score_case(class: &str, result: &ItemResult, score: &Score, trace: TraceId) -> String {
    let mut name = name_of(result);
    if score.turn > 0 {
        let _ = write!(name, " turn {}", score.turn + 1);
    }
    let value = score.value.map_or(String::new(), |value| format!("{value:.3}: "));
    let message = format!("{value}{}", score.reason);
    case(class, &name, None, score.verdict, score.verdict.as_str(), &message, Some(trace))
}

fn gate_suite(assessed: &Assessment, counts: Counts) -> String {
    let class = format!("{}.gates", assessed.job.name);
    let mut text = format!("  <testsuite name={} {}>\n", quoted(&class), counts.attributes());
    for judged in &assessed.gates {
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| judged.unit.show(value));
        let note = judged.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
        let message = format!("{}, bound {}{note}", shown(judged.actual), shown(judged.bound));
        text +=
            &case(&class, &judged.gate, None, verdict_of_gate(judged.verdict), judged.verdict.as_str(), &message, None);
    }
    text + "  </testsuite>\n"
}

fn case(
    class: &str,
    name: &str,
    seconds: Option<f64>,
    verdict: Verdict,
    kind: &str,
    message: &str,
    trace: Option<TraceId>,
) -> String {
    let time = seconds.map_or(String::new(), |seconds| format!(" time=\"{seconds:.3}\""));
    let head = format!("    <testcase classname={} name={}{time}", quoted(class), quoted(name));
    let element = match verdict {
        // A trace is looked for where something went wrong.
        Verdict::Pass => return format!("{head}/>\n"),
        Verdict::Skipped => return format!("{head}><skipped message={}/></testcase>\n", quoted(message)),
        Verdict::Fail => "failure",
        Verdict::Error => "error",
    };
    let first = message.lines().next().unwrap_or_default();
    let (kind, brief, whole) = (quoted(kind), quoted(first), escaped(message));
    let trace = trace.map_or(String::new(), |trace| {
        format!("<properties><property name=\"trace_id\" value=\"{trace}\"/></properties>")
    });
    format!("{head}>{trace}<{element} type={kind} message={brief}>{whole}</{element}></testcase>\n")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// XML 1.0 has no way to write most control characters; a model's output may well hold one.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_model_says_stays_valid_xml() {
        assert_eq!(escaped("a<b & \"c\"\n\u{1b}[0m\u{0}é"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}[0m\u{fffd}é");
        let case = case("c", "row 1", Some(0.0544), Verdict::Fail, "fail", "0.000: no\nsecond line", None);
        assert_eq!(
            case,
            "    <testcase classname=\"c\" name=\"row 1\" time=\"0.054\"><failure type=\"fail\" \
             message=\"0.000: no\">0.000: no&#10;second line</failure></testcase>\n"
        );
    }
}
