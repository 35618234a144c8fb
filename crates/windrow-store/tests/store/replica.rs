//! Result tables that are kept up by the changes of a store alone, and checked against its records.

use std::collections::BTreeMap;
use std::sync::Arc;

use windrow_model::record::{ItemDetail, ItemResult, Run};
use windrow_model::store::{ItemFilter, JobFilter, Store};
use windrow_model::{ItemId, JobId};
use windrow_results::columns::{InMemory, Shelf};
use windrow_results::table::Table;
use windrow_results::{Condition, Grid, Kind, Name, ResultRow, Seen, Sort, Value};

const CONDITIONS: &[&str] = &[
    "outcome = running or outcome = queued",
    "tries > 1 and not state = failed",
    "score.exact < 0.5 or verdict.odd = error",
    "reviewed = true and label.exact is not null",
    "error in (server, lost) and message ~ broke",
    "text contains \"a\" and latency_ms is not null",
    "flaky = true",
];
const SORTS: &[&str] = &["-latency_ms", "outcome,-row", "-score.exact,output,tries", "output"];

/// Random ones, per table and check.
const QUESTIONS: usize = 8;

#[derive(Default)]
pub struct Replica {
    jobs: BTreeMap<JobId, OfJob>,
}

struct OfJob {
    newest: i64,
    table: Grid,
    /// What each run made of each item.
    made: BTreeMap<ItemId, Vec<ResultRow>>,
}

impl Replica {
    /// Reads what changed again, a few at a time.
    pub async fn catch_up(&mut self, store: &dyn Store) {
        let jobs = jobs(store).await;
        self.jobs.retain(|job, _| jobs.contains(job));
        for job in jobs {
            let empty = || OfJob { newest: 0, table: Grid::empty(Arc::<InMemory>::default()), made: BTreeMap::new() };
            let known = self.jobs.entry(job).or_insert_with(empty);
            loop {
                let changes = store.result_changes(job, known.newest, 3).await.unwrap().expect("nothing is forgotten");
                known.newest = changes.newest;
                if !changes.items.is_empty() {
                    let rows = rows(store, job, changes.items).await;
                    known.table = known.table.with(rows.values().map(|rows| rows[0].clone())).unwrap();
                    known.made.extend(rows.into_iter().map(|(item, rows)| (item, rows[1..].to_vec())));
                }
                if !changes.more {
                    break;
                }
            }
        }
    }

    /// As if each table had been kept by a process that ended.
    pub fn restart(&mut self) {
        for known in self.jobs.values_mut() {
            let kept: Arc<dyn Shelf> = Arc::<InMemory>::default();
            let head = known.table.save(&mut |bytes| kept.put(bytes)).unwrap();
            known.table = Grid::open(&head, &kept, Arc::<InMemory>::default()).unwrap();
        }
    }

    pub async fn check(&self, store: &dyn Store, when: &str) {
        for (job, known) in &self.jobs {
            let filter = ItemFilter { job: *job, run: None, state: None, after: None, limit: 1000 };
            let items = store.items(filter).await.unwrap().iter().map(|item| item.id).collect();
            let expected = rows(store, *job, items).await;
            let made: BTreeMap<ItemId, Vec<ResultRow>> =
                expected.iter().map(|(item, rows)| (*item, rows[1..].to_vec())).collect();
            assert_eq!(known.made, made, "results of runs of {job}, {when}: by changes on the left");
            let plain = Table::new(expected.into_values().map(|mut rows| rows.remove(0)).collect());
            let mut slots: Vec<u32> = (0..known.table.len() as u32).collect();
            slots.sort_by_key(|slot| known.table.item(*slot));
            assert_eq!(
                known.table.rows(&slots).unwrap(),
                plain.rows(),
                "rows of {job}, {when}: by changes on the left"
            );
            check_questions(&known.table, &plain, when);
            check_random_questions(&known.table, &plain, when);
        }
    }

    pub async fn forget(&self, store: &dyn Store) {
        for (job, known) in &self.jobs {
            store.forget_result_changes(*job, known.newest, 0).await.unwrap();
            assert_eq!(store.newest_result_change(*job).await.unwrap(), known.newest);
            if known.newest > 0 {
                assert_eq!(store.result_changes(*job, known.newest - 1, 1).await.unwrap(), None);
            }
        }
    }
}

fn check_questions(table: &Grid, plain: &Table, when: &str) {
    assert_eq!(table.names(), plain.names(), "{when}");
    for (text, sort) in CONDITIONS.iter().zip(SORTS.iter().cycle()) {
        // A name that the job does not have is refused.
        let Ok(condition) = Condition::parse(text, plain.names()) else { continue };
        let order = Sort::parse(sort, plain.names()).unwrap_or_default();
        let slots = table.select(None, Some(&condition), &order).unwrap();
        let found: Vec<ItemId> = slots.iter().map(|slot| table.item(*slot)).collect();
        let places = plain.select(None, Some(&condition), &order);
        let expected: Vec<ItemId> = places.iter().map(|place| plain.rows()[*place as usize].item).collect();
        assert_eq!(found, expected, "{text}, {when}: columns on the left");
    }
}

/// Random questions in the language that people write, over every name and operator of the job.
fn check_random_questions(table: &Grid, plain: &Table, when: &str) {
    let seed =
        when.bytes().fold(plain.rows().len() as u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut random = fastrand::Rng::with_seed(seed);
    let names: Vec<Name> = plain
        .names()
        .all()
        .into_iter()
        .filter(|name| Name::parse(&name.to_string(), plain.names()).is_ok_and(|found| found == *name))
        .collect();
    for _ in 0..if plain.rows().is_empty() { 0 } else { QUESTIONS } {
        let text = question(&names, plain.rows(), &mut random, 2);
        let key = |random: &mut fastrand::Rng| {
            format!("{}{}", if random.bool() { "-" } else { "" }, random.choice(&names).unwrap())
        };
        let order = [key(&mut random), key(&mut random)].join(",");
        let condition = Condition::parse(&text, plain.names()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let order = Sort::parse(&order, plain.names()).unwrap_or_else(|error| panic!("{order}: {error}"));
        let slots = table.select(None, Some(&condition), &order).unwrap();
        let found: Vec<ItemId> = slots.iter().map(|slot| table.item(*slot)).collect();
        let places = plain.select(None, Some(&condition), &order);
        let expected: Vec<ItemId> = places.iter().map(|place| plain.rows()[*place as usize].item).collect();
        assert_eq!(found, expected, "{text} by {order:?}, {when}: columns on the left");
    }
}

fn question(names: &[Name], rows: &[ResultRow], random: &mut fastrand::Rng, depth: u32) -> String {
    if depth == 0 || random.u8(..3) == 0 {
        return test(random.choice(names).unwrap(), rows, random);
    }
    let mut part = || question(names, rows, random, depth - 1);
    match (part(), part()) {
        (a, b) if a.len() % 3 == 0 => format!("({a} and {b})"),
        (a, b) if a.len() % 3 == 1 => format!("({a} or {b})"),
        (a, b) => format!("(not {a} and {b})"),
    }
}

fn test(name: &Name, rows: &[ResultRow], random: &mut fastrand::Rng) -> String {
    let row = random.choice(rows).unwrap();
    let value = Seen { row, baseline: None }.value(name);
    let is_number = matches!(name.kind(), Kind::Number | Kind::Time);
    let words = name.words();
    let operand = match (&value, &words) {
        (Value::Number(number), _) => (number + f64::from(random.u8(..2))).to_string(),
        (Value::Null, None) if is_number => "0.5".to_owned(),
        (Value::Null, None) => quoted("größe"),
        (Value::Null, Some(words)) => quoted(random.choice(words).unwrap()),
        (value, _) => quoted(&value.text()),
    };
    let part: String = value.text().chars().skip(random.usize(..3)).take(3).collect();
    let known = match random.u8(..7) {
        0 => return format!("{name} is null"),
        1 => return format!("{name} is not null"),
        2 => return format!("{name} contains {}", quoted(&part)),
        3 => return format!("{name} not contains {}", quoted(&part)),
        4 => return format!("{name} matches {}", quoted(random.choice(["^.", "[0-9]$", "(?i)GRÖ", "^$"]).unwrap())),
        5 => format!("{name}{} in ({operand}, {operand})", if random.bool() { " not" } else { "" }),
        _ if is_number => format!("{name} {} {operand}", random.choice(["=", "!=", "<", "<=", ">", ">="]).unwrap()),
        _ => format!("{name} {} {operand}", random.choice(["=", "!="]).unwrap()),
    };
    // The variants of a job are a closed list, which a row without a variant is not in.
    if *name == Name::Variant && value.is_null() { format!("{name} is null") } else { known }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

async fn jobs(store: &dyn Store) -> Vec<JobId> {
    let jobs = store.jobs(JobFilter { limit: 100, ..Default::default() }).await.unwrap();
    jobs.iter().map(|(job, _)| job.id).collect()
}

/// What each item shows now, and then what each run made of it.
async fn rows(store: &dyn Store, job: JobId, items: Vec<ItemId>) -> BTreeMap<ItemId, Vec<ResultRow>> {
    let runs: Vec<Run> = store.runs(job).await.unwrap();
    let mut made: BTreeMap<ItemId, Vec<ItemResult>> = BTreeMap::new();
    for run in &runs {
        for result in store.results(run.id, None, 1000).await.unwrap() {
            made.entry(result.item).or_default().push(result);
        }
    }
    let shown = |detail: &ItemDetail, made: Option<&ItemResult>| {
        let mut row = ResultRow::of(detail, made, |run| runs.iter().find(|r| r.id == run).map_or(0, |r| r.no));
        row.scores.sort_by(|a, b| (a.turn, &a.name).cmp(&(b.turn, &b.name)));
        row
    };
    let details = store.details(items).await.unwrap();
    let row = |detail: &ItemDetail| {
        let of_runs = made.get(&detail.item.id).into_iter().flatten().map(|made| shown(detail, Some(made)));
        (detail.item.id, [shown(detail, None)].into_iter().chain(of_runs).collect())
    };
    details.iter().map(row).collect()
}
