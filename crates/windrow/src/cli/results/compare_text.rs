//! Comparisons as text: for a person, for Markdown, and lean for agents, which pay for every character.

use std::fmt::Write;

use windrow_model::compare::{Difference, Flip};
use windrow_wire::{BaselineHead, ChangedOutput, Compared, ComparisonView, SideChange};

use crate::cli::view::output;
use crate::text;
use crate::text::{style, tables};

/// Characters of an output in a line.
const OUTPUT: usize = 120;

/// For a person. In full, also with the fixed rows and with the texts of all rows.
pub fn page(view: &ComparisonView, full: bool) -> String {
    let mut page = String::new();
    if view.sides.len() > 2 || view.sides.iter().any(|side| side.variant.is_some()) {
        page += &sides(view);
    }
    for change in &view.changes {
        page += &of_change(view, change, full);
    }
    page
}

fn sides(view: &ComparisonView) -> String {
    let rows = view.sides.iter().flat_map(|side| {
        side.metrics.iter().map(|(name, metric)| {
            vec![
                side.name.clone(),
                name.clone(),
                text::count(metric.n),
                metric.pass_rate.map_or("–".to_owned(), text::percent),
                tables::number(metric.mean, metric.interval),
                format!("${:.4}", side.cost),
            ]
        })
    });
    output::table(&["RUN", "EVALUATOR", ">N", ">PASS RATE", ">MEAN [95% CI]", ">COST"], rows.collect()) + "\n"
}

fn of_change(view: &ComparisonView, change: &SideChange, full: bool) -> String {
    let before = &view.sides[0];
    let Some(after) = view.sides.iter().find(|side| side.name == change.name) else { return String::new() };
    let head = |side: &windrow_wire::ComparedSide| {
        let job = side.variant.as_ref().map_or(side.job.clone(), |variant| format!("{}@{variant}", side.job));
        BaselineHead { job, run: side.run.clone(), no: side.no }
    };
    let compared = Compared { before: head(before), after: head(after), comparison: change.comparison.clone() };
    let mut page = of_both(&compared);
    if !change.definition.is_empty() {
        page += &format!("\n{}\n", style::bold("Changed in the definition"));
        for field in &change.definition {
            let value = |value: &Option<String>| fitted(value.as_deref().unwrap_or("–"));
            let (before, after) = (value(&field.before), value(&field.after));
            let _ = writeln!(page, "  {} {}: {before} → {after}", style::dim(&field.part), field.path);
        }
    }
    for (name, found) in &change.comparison.evaluators {
        page += &flips(name, "Regressed", found.broken, &found.broken_rows, &change.rows);
        // Where every lower value is a row that regressed, nothing is left to say.
        if found.regressed > found.broken {
            page += &flips(name, "Fell most", found.regressed, &found.fallen_rows, &change.rows);
        }
        if full {
            page += &flips(name, "Fixed", found.fixed, &found.fixed_rows, &change.rows);
        }
    }
    for row in change.rows.iter().filter(|_| full) {
        let place = tables::row_of(row.row, row.variant.as_deref());
        let _ = writeln!(page, "\n{} {}, {place}", style::bold(&row.change), row.evaluator);
        for (name, text) in texts(row) {
            let _ = writeln!(page, "  {} {}", style::dim(format!("{name:<8}")), fitted(text));
        }
    }
    page + "\n"
}

fn texts(row: &ChangedOutput) -> Vec<(&'static str, &str)> {
    let all = [
        ("input", Some(&row.input)),
        ("expected", row.expected.as_ref()),
        ("before", row.before.as_ref()),
        ("after", row.after.as_ref()),
        ("reason", Some(&row.reason)),
    ];
    all.into_iter()
        .filter_map(|(name, text)| Some((name, text?.as_str())))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

/// On one line, shortened.
fn fitted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(OUTPUT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The numbers of two runs, without rows.
fn of_both(compared: &Compared) -> String {
    let Compared { before, after, comparison } = compared;
    let runs = format!("{}#{} → {}#{}", before.job, before.no, after.job, after.no);
    if comparison.evaluators.is_empty() {
        return format!("{}\n\nNeither run has scores.\n", style::bold(runs));
    }
    let rows = comparison.evaluators.values().map(|difference| difference.rows).max().unwrap_or(0);
    let mut page = format!("{} · {} in both\n\n", style::bold(runs), text::plural(rows, "row"));
    page += &tables::changes(comparison);
    for (name, difference) in &comparison.evaluators {
        page += &alone(name, difference.only_before, before);
        page += &alone(name, difference.only_after, after);
    }
    let evidence: String =
        comparison.evaluators.iter().filter_map(|(name, found)| tables::evidence(name, found)).collect();
    if !evidence.is_empty() {
        page += &format!("\n{evidence}");
    }
    page
}

fn alone(name: &str, rows: i64, run: &BaselineHead) -> String {
    match rows {
        0 => String::new(),
        n => format!("\n{name}: {} only in {}#{}\n", text::plural(n, "row"), run.job, run.no),
    }
}

/// One line per row: `row 31  1.000 → 0.000  expected "returns", got "refund"`
fn flips(name: &str, what: &str, total: i64, rows: &[Flip], outputs: &[ChangedOutput]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let title = style::bold(format!("{what} on {name}"));
    let mut page = format!("\n{title}: {}\n", text::plural(total, "row"));
    for flip in rows {
        let value = |value: Option<f64>| tables::number(value, None);
        let (row, item) = (tables::row_of(flip.ordinal + 1, flip.variant.as_deref()), flip.after.to_string());
        let said = outputs.iter().find(|output| output.item == item && output.evaluator == name);
        let head = format!("  {row:<10}  {} → {}  ", value(flip.before_value), value(flip.after_value));
        let reason = said.map_or("", |output| output.reason.as_str());
        page += &format!("{}\n", format!("{head}{}", output::fitted(reason, head.chars().count())).trim_end());
    }
    match total - rows.len() as i64 {
        more @ 1.. => page + &format!("  … {} more\n", text::count(more)),
        _ => page,
    }
}

/// For a comment on a pull request.
pub fn markdown(view: &ComparisonView) -> String {
    let mut page = String::new();
    for change in &view.changes {
        let _ = writeln!(page, "### {} → {}\n", view.sides[0].name, change.name);
        let _ = writeln!(page, "| evaluator | before | after | change [95 % CI] | p (Holm) | result |");
        let _ = writeln!(page, "|---|---:|---:|---:|---:|---|");
        for (name, found) in &change.comparison.evaluators {
            let p = found.p_adjusted.map_or("–".to_owned(), |p| format!("{p:.4}"));
            let [before, after, by] = numbers(found);
            let _ = writeln!(page, "| {} | {before} | {after} | {by} | {p} | {} |", cell(name), found.verdict);
        }
        for field in &change.definition {
            let value = |value: &Option<String>| cell(&fitted(value.as_deref().unwrap_or("–")));
            let _ = writeln!(page, "\n- `{}`: {} → {}", field.path, value(&field.before), value(&field.after));
        }
        if !change.rows.is_empty() {
            let _ = writeln!(page, "\n| row | evaluator | change | before | after |\n|---:|---|---|---|---|");
        }
        for row in &change.rows {
            let output = |text: &Option<String>| cell(&fitted(text.as_deref().unwrap_or("–")));
            let (before, after) = (output(&row.before), output(&row.after));
            let place = row.variant.as_ref().map_or(row.row.to_string(), |variant| format!("{} {variant}", row.row));
            let (place, evaluator) = (cell(&place), cell(&row.evaluator));
            let _ = writeln!(page, "| {place} | {evaluator} | {} | {before} | {after} |", row.change);
        }
        page.push('\n');
    }
    page
}

/// No text may end a cell or become a tag.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

fn numbers(found: &Difference) -> [String; 3] {
    let Some(mean) = found.mean else { return ["–", "–", "–"].map(str::to_owned) };
    let range = mean.interval.map_or(String::new(), |i| format!(" [{:+.3}, {:+.3}]", i.low, i.high));
    [format!("{:.3}", mean.before), format!("{:.3}", mean.after), format!("{:+.3}{range}", mean.difference)]
}

/// One fact per line, nothing for the eye.
pub fn lean(view: &ComparisonView) -> String {
    let mut page = format!("base {}\n", view.sides[0].name);
    for change in &view.changes {
        let _ = writeln!(page, "vs {}", change.name);
        for (name, found) in &change.comparison.evaluators {
            let [before, after, by] = numbers(found);
            let p = found.p_adjusted.map_or("-".to_owned(), |p| format!("{p:.4}"));
            let mde = found.mde.map_or("-".to_owned(), |mde| format!("{mde:.3}"));
            let (up, same, down) = (found.improved, found.same, found.regressed);
            let _ = writeln!(
                page,
                "{name} {before}>{after} {by} p={p} {} n={} up={up} same={same} down={down} mde={mde} {}",
                found.test, found.rows, found.verdict
            );
        }
        for field in &change.definition {
            let value = |value: &Option<String>| fitted(value.as_deref().unwrap_or("-"));
            let _ = writeln!(page, "def {} {:?}>{:?}", field.path, value(&field.before), value(&field.after));
        }
        for row in &change.rows {
            let variant = row.variant.as_ref().map_or(String::new(), |variant| format!(" variant={variant}"));
            let _ = write!(page, "{} {} row={}{variant} item={}", row.change, row.evaluator, row.row, row.item);
            for (name, text) in texts(row) {
                let _ = write!(page, " {name}={:?}", fitted(text));
            }
            page.push('\n');
        }
    }
    page
}
