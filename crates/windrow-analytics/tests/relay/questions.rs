//! One semantics: random rows and questions have the same answers in ClickHouse as the plain rows, which are the
//! specification. `WINDROW_ANALYTICS_CASES` says how many tables are asked.

use std::sync::Arc;

use serde_json::to_value;
use windrow_analytics::batch::Batch;
use windrow_analytics::question::Copied;
use windrow_analytics::row::{ItemRow, JobRow};
use windrow_analytics::schema::{self, ITEMS, JOBS};
use windrow_model::record::Job;
use windrow_model::state::ItemState;
use windrow_model::store::*;
use windrow_model::{JobId, RunId};
use windrow_results::query::Grouping;
use windrow_results::testing::{built, close, row};
use windrow_results::{Baseline, Condition, Kind, Name, Names, ResultRow, Seen, Sort, Table, summary};

use crate::fixture::*;
use crate::world::World;

const QUESTIONS: usize = 3;

fn cases() -> u64 {
    std::env::var("WINDROW_ANALYTICS_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6)
}

fn rows(bits: &mut fastrand::Rng, most: usize) -> Vec<ResultRow> {
    let random = |item: usize| row(item as i64 * 3, bits.u64(..));
    let mut rows: Vec<ResultRow> = (1..=1 + fastrand::Rng::with_seed(most as u64).usize(1..most)).map(random).collect();
    // How often a waiting item was claimed is not in the copy.
    rows.iter_mut().filter(|row| row.state == ItemState::Queued).for_each(|row| row.tries = 0);
    rows
}

/// The rows in ClickHouse, as items of a job of their own.
async fn sent(world: &World, job: &Job, id: i64, rows: &[ResultRow]) -> Copied {
    let job = Job { id: JobId(id), ..job.clone() };
    let columns = ["exact".to_owned()];
    let mut batch = Batch::new(1);
    batch.add(JOBS, &JobRow::of(&job, &columns, 1));
    rows.iter().for_each(|row| batch.add_item(ITEMS, &ItemRow::of(&job, RunId(1), row.clone(), &columns)));
    batch.send(&world.client, &format!("job {id}")).await.unwrap();
    Copied::open(world.client.clone(), &job, None).await.unwrap().unwrap()
}

#[track_caller]
fn same(copy: &impl serde::Serialize, plain: &impl serde::Serialize, what: &str) {
    let (copy, plain) = (to_value(copy).unwrap(), to_value(plain).unwrap());
    assert!(close(&copy, &plain), "{what}: ClickHouse first\n{copy}\n{plain}");
}

async fn check(copy: &Copied, table: &Table, baseline: Option<&Baseline>, random: &mut fastrand::Rng) {
    let all: Vec<Name> = Names { baseline: baseline.is_some(), ..table.names().clone() }
        .all()
        .into_iter()
        .filter(|name| baseline.is_some() || !name.needs_baseline())
        .collect();
    let bits: Vec<u64> = (0..random.usize(1..4)).map(|_| random.u64(..)).collect();
    let condition = built(&all, table.rows(), &(bits, random.u8(..)));
    let mut key = || Sort { name: all[random.usize(..all.len())].clone(), descending: random.bool() };
    let order = [key(), key()];
    let name = order[0].name.clone();
    let is_number = matches!(name.kind(), Kind::Number | Kind::Time);
    let width = (is_number && random.bool()).then(|| [0.1, 7.0, 25_000.0][random.usize(..3)]);
    let grouping = Grouping { name, width };
    let what = format!("{condition:?} by {order:?}, in groups of {width:?}");
    let places = table.select(baseline, Some(&condition), &order);
    let expected: Vec<i64> = places.iter().map(|place| table.rows()[*place as usize].item.0).collect();
    let items = copy.items(Some(&condition), &order).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(items.iter().map(|item| item.0).collect::<Vec<_>>(), expected, "{what}");
    let seen: Vec<Seen<'_>> = places.iter().map(|place| table.seen(*place, baseline)).collect();
    let holds = Some(&condition);
    same(&copy.header(holds).await.unwrap(), &summary::header(&seen), &what);
    same(&copy.metrics(holds).await.unwrap(), &summary::metrics(&seen), &what);
    same(&copy.groups(holds, &grouping).await.unwrap(), &summary::groups(&seen, &grouping), &what);
    let asked: Vec<(Name, Option<Condition>)> =
        all.iter().skip(random.usize(..8)).step_by(8).map(|name| (name.clone(), Some(condition.clone()))).collect();
    let facets: Vec<summary::Facet> = asked.iter().map(|(name, _)| summary::facet(&seen, name)).collect();
    same(&copy.facets(&asked).await.unwrap(), &facets, &what);
    let flaky: Vec<i64> = copy.flaky(&items).await.unwrap().into_iter().map(|item| item.0).collect();
    let mut plain: Vec<i64> = seen.iter().filter(|seen| seen.row.flaky).map(|seen| seen.row.item.0).collect();
    plain.sort_unstable();
    assert_eq!(flaky, plain, "{what}");
    let before = copy.before(&items).await.unwrap();
    for seen in &seen {
        assert_eq!(before.get(&seen.row.item), seen.baseline.map(|row| &row.item), "{what}");
    }
    let variants = copy.variants(holds).await.unwrap();
    for name in &table.names().variants {
        let own: Vec<Seen<'_>> = seen.iter().filter(|seen| seen.row.variant.as_ref() == Some(name)).copied().collect();
        let found = variants.get(name).cloned().unwrap_or_default();
        assert_eq!(found.n, own.len() as i64, "{what}");
        same(&found.metrics, &summary::metrics(&own), &what);
    }
}

/// E3, E14, E15.
#[tokio::test(flavor = "multi_thread")]
async fn clickhouse_answers_as_plain_rows_do() {
    let world = World::new();
    planned(&*world.store, "a", Vec::new()).await;
    let job = world.store.job(JobId(100)).await.unwrap();
    schema::migrate(&world.client).await.unwrap();
    let mut failed = Vec::new();
    for case in 0..cases() {
        let mut random = fastrand::Rng::with_seed(case);
        let (plain, others) = (rows(&mut random, 70 + case as usize), rows(&mut random, 40));
        let copy = sent(&world, &job, 1_000 + case as i64 * 2, &plain).await;
        let before = sent(&world, &job, 1_001 + case as i64 * 2, &others).await;
        let (plain, others) = (Arc::new(Table::new(plain)), Arc::new(Table::new(others)));
        assert_eq!(copy.names(), plain.names());
        assert_eq!(copy.rows(), plain.rows().len() as i64);
        let variant = [None, Some("b")][random.usize(..2)];
        let compared = copy.clone().against(before, variant);
        // Every question is asked, so that one failure does not hide the others.
        for question in 0..QUESTIONS {
            let (plain, others, mut random) = (plain.clone(), others.clone(), random.fork());
            let (copy, compared) = (copy.clone(), compared.clone());
            let asked = tokio::spawn(async move {
                check(&copy, &plain, None, &mut random).await;
                let baseline = Baseline::new(others, variant);
                check(&compared, &plain, Some(&baseline), &mut random).await;
            });
            if asked.await.is_err() {
                failed.push((case, question));
            }
        }
    }
    assert!(failed.is_empty(), "cases and questions: {failed:?}");
}
