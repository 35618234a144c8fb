//! Questions to a result table of a million rows: the columns alone, without a database, in the order in which a person
//! asks them. Times are the better of three.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, json};
use windrow_model::state::ItemState;
use windrow_model::step::{ContentKey, Score, Usage, Verdict};
use windrow_model::trace::TraceId;
use windrow_model::{ItemId, RunId, Time};
use windrow_results::columns::{SEGMENT, Shelf};
use windrow_results::{Condition, Grid, Grouping, Name, Pairs, ResultRow, RowOutcome, Sort};

use crate::shelf::OnDisk;
use crate::walk::home;
use crate::{Figures, peak_mb};

const PAGE: usize = 50;

pub fn questions(rows: u64) -> Figures {
    let home = home();
    let mut figures = Figures::new();
    let mut note = |name: &str, value: f64| {
        figures.insert(format!("results.{name}"), value);
    };
    let shelf: Arc<dyn Shelf> = Arc::new(OnDisk::create(home.path()).expect("a file for texts"));
    let began = Instant::now();
    let mut grid = built(&shelf, rows, 1);
    note("build_s", began.elapsed().as_secs_f64());
    note("peak_mb", peak_mb());

    let all = grid.select(None, None, &[]).expect("texts");
    note("header_ms", best(|| (grid.header(&all), grid.metrics(&all, None))));
    note("first_page_ms", best(|| grid.rows(&grid.select(None, None, &[]).expect("texts")[..PAGE])));
    let names = grid.names().clone();
    let condition = |text: &str| Condition::parse(text, &names).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (filter, sort) = (condition("field.lang = w3 and score.judge < 0.9"), Sort::parse("-latency_ms", &names));
    let sort = sort.expect("a name");
    let sorted = || grid.select(None, Some(&filter), &sort).expect("texts");
    note("sort_ms", best(|| grid.rows(&sorted()[..PAGE])));
    let text = condition("text contains \"row 77777 \"");
    note("text_ms", best(|| grid.select(None, Some(&text), &[])));
    let ordered = grid.select(None, None, &sort).expect("texts");
    let offset = ordered.len() / 10 * 9;
    note("offset_ms", best(|| grid.rows(&ordered[offset..offset + PAGE])));
    let fields: Vec<Name> = (0..8).map(|no| Name::parse(&field_name(no), &names).expect("a name")).collect();
    let facets = || {
        let found = grid.matching(None, Some(&filter)).expect("texts");
        fields.iter().map(|name| grid.facet(&found, name, None)).collect::<Vec<_>>()
    };
    note("facets_ms", best(facets));
    let grouping = Grouping { name: fields[1].clone(), width: None };
    note("group_ms", best(|| grid.groups(&all, &grouping, None)));
    let changed: Vec<ResultRow> = (0..1_000).map(|n| row(n * (rows / 1_000), 2)).collect();
    let began = Instant::now();
    grid = Arc::new(grid.with(changed).expect("room for texts"));
    note("catch_up_ms", began.elapsed().as_secs_f64() * 1e3);

    let before = built(&shelf, rows, 3);
    let began = Instant::now();
    let pairs = Pairs::new(&grid, before, None);
    let order = grid.select(Some(&pairs), None, &[]).expect("texts");
    assert_eq!(grid.metrics(&order, Some(&pairs)).len(), 2);
    note("compare_ms", began.elapsed().as_secs_f64() * 1e3);
    figures
}

fn best<T>(mut question: impl FnMut() -> T) -> f64 {
    let mut once = || {
        let began = Instant::now();
        std::hint::black_box(question());
        began.elapsed().as_secs_f64() * 1e3
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn built(shelf: &Arc<dyn Shelf>, rows: u64, seed: u64) -> Arc<Grid> {
    let mut grid = Grid::empty(shelf.clone());
    for from in (0..rows).step_by(SEGMENT) {
        let page: Vec<ResultRow> = (from..rows.min(from + SEGMENT as u64)).map(|n| row(n, seed)).collect();
        grid = grid.with(page).expect("room for texts");
    }
    Arc::new(grid)
}

fn field_name(no: u64) -> String {
    if no == 0 { "field.lang".into() } else { format!("field.f{no}") }
}

/// Fields of 5 to 5,000 values, two scores, texts of 200 characters.
fn row(n: u64, seed: u64) -> ResultRow {
    let dice = |no: u64| (n ^ seed.wrapping_mul(0x51_7c_c1)).wrapping_add(no).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let values = [5, 40, 3, 12, 100, 1_000, 5_000, 7];
    let mut fields = Map::new();
    for (no, many) in values.iter().enumerate() {
        let name = field_name(no as u64).trim_start_matches("field.").to_owned();
        fields.insert(name, json!(format!("w{}", dice(no as u64) % many)));
    }
    let verdict = if dice(9) % 4 == 0 { Verdict::Fail } else { Verdict::Pass };
    let score = |name: &str, value: f64, reason: &str| {
        let (name, version, reason) = (name.to_owned(), "1".to_owned(), reason.to_owned());
        Score { name, version, turn: 0, verdict, value: Some(value), reason }
    };
    let exact = f64::from(u8::from(verdict == Verdict::Pass));
    let text = |what: &str| format!("{what} of row {n} {:0>170}", dice(10));
    ResultRow {
        item: ItemId(n as i64 + 1),
        key: ContentKey::of(&[&n.to_le_bytes()]),
        ordinal: n as i64,
        variant: None,
        trial: 1,
        state: ItemState::Succeeded,
        outcome: if verdict == Verdict::Pass { RowOutcome::Pass } else { RowOutcome::Fail },
        run: 1,
        error: None,
        tries: 1,
        turns: 1,
        flaky: false,
        planned: 1,
        removed: false,
        latency_ms: Some((dice(11) % 5_000) as i64),
        usage: Usage { tokens_in: 100, tokens_out: (dice(12) % 900) as i64, cost_nanos: (dice(13) % 9_999) as i64 },
        finished_at: Some(Time(1_700_000_000_000 + n as i64)),
        trace: TraceId::of(RunId(1), ItemId(n as i64 + 1)),
        input: text("The question"),
        expected: None,
        output: Some(text("The answer")),
        outputs: Default::default(),
        fields,
        scores: vec![score("exact", exact, ""), score("judge", (dice(14) % 1_000) as f64 / 1e3, "it says so")],
        labels: Vec::new(),
    }
}
