//! Columns answer as plain rows do: random rows, changes and questions, over small segments so that there are many.

use std::sync::Arc;

use proptest::prelude::*;
use windrow_model::compare::{Comparison as Compared, Finding, Pairing, Side};
use windrow_model::step::{Verdict, is_own_column};

use super::*;
use crate::query::{Grouping, Kind, Name, Seen, Sort};
use crate::table::{Baseline, Table};
use crate::testing::{built, close, row};
use crate::{cell, summary};

fn condition() -> impl Strategy<Value = (Vec<u64>, u8)> {
    (prop::collection::vec(any::<u64>(), 1..5), any::<u8>())
}

/// Numbers up to rounding: columns may add them in another order.
fn same(left: &impl serde::Serialize, right: &impl serde::Serialize, what: &str) {
    let (left, right) = (serde_json::to_value(left).unwrap(), serde_json::to_value(right).unwrap());
    assert!(close(&left, &right), "{what}: columns on the left\n{left}\n{right}");
}

/// A table of these rows, of which some came first and changed later, and the same as plain rows.
fn tables(seeds: &[u64], changes: &[(usize, u64)], batch: usize, shuffled: bool) -> (Arc<Grid>, Arc<Table>) {
    let mut grid = Grid::empty(Arc::new(InMemory::default()));
    let mut rows: Vec<ResultRow> = seeds.iter().zip(1..).map(|(bits, item)| row(item * 3, *bits)).collect();
    let mut arriving = rows.clone();
    if shuffled {
        arriving.sort_by_key(|row| row.item.0 * 7 % 31);
    }
    for page in arriving.chunks(batch) {
        grid = grid.with(page.to_vec()).unwrap();
    }
    for page in changes.chunks(3) {
        let changed: Vec<ResultRow> = page
            .iter()
            .map(|(at, bits)| {
                let at = at % rows.len();
                rows[at] = row(rows[at].item.0, *bits);
                rows[at].clone()
            })
            .collect();
        grid = grid.with(changed).unwrap();
    }
    const WHOLE: i64 = 3;
    rows.iter_mut().for_each(|row| row.removed = ResultRow::is_removed(row.planned, WHOLE));
    (Arc::new(grid.after_whole(WHOLE).unwrap()), Arc::new(Table::new(rows)))
}

fn items(grid: &Grid, slots: &[u32]) -> Vec<i64> {
    slots.iter().map(|slot| grid.item(*slot).0).collect()
}

fn check(
    (grid, table): (&Arc<Grid>, &Arc<Table>),
    (pairs, baseline): (Option<&Pairs>, Option<&Baseline>),
    question: &(Vec<u64>, u8),
) {
    let names: Vec<Name> = {
        let names = Names { baseline: pairs.is_some(), ..table.names().clone() };
        names.all().into_iter().filter(|name| pairs.is_some() || !name.needs_baseline()).collect()
    };
    let condition = built(&names, table.rows(), question);
    let key = |bits: u64, descending| Sort { name: names[bits as usize % names.len()].clone(), descending };
    let sort = key(question.0[0] / 7, question.1 & 1 == 0);
    let more = [key(question.0[0] / 11, question.1 & 2 == 0), key(question.0[0] / 13, question.1 & 4 == 0)];
    let order: Vec<Sort> = [sort.clone()].into_iter().chain(more).take(1 + question.1 as usize / 8 % 3).collect();
    let what = format!("{condition:?} by {order:?}");
    let places = table.select(baseline, Some(&condition), &order);
    let slots = grid.select(pairs, Some(&condition), &order).unwrap();
    let expected: Vec<i64> = places.iter().map(|place| table.rows()[*place as usize].item.0).collect();
    assert_eq!(items(grid, &slots), expected, "{what}");
    let seen: Vec<Seen<'_>> = places.iter().map(|place| table.seen(*place, baseline)).collect();
    same(&grid.header(&slots), &summary::header(&seen), "header");
    same(&grid.metrics(&slots, pairs), &summary::metrics(&seen), &what);
    same(&grid.facet(&slots, &sort.name, pairs).unwrap(), &summary::facet(&seen, &sort.name), &what);
    let is_number = matches!(sort.name.kind(), Kind::Number | Kind::Time);
    let width = (is_number && question.1 & 64 == 0).then(|| [0.1, 7.0, 25_000.0][question.1 as usize % 3]);
    let grouping = Grouping { name: sort.name.clone(), width };
    same(&grid.groups(&slots, &grouping, pairs).unwrap(), &summary::groups(&seen, &grouping), &what);
}

/// The findings in the order in which a store reads them.
fn plain_comparison(sides: [(&Table, Option<&str>); 2]) -> Compared {
    let mut found = Vec::new();
    for (side, (table, variant)) in [Side::Before, Side::After].into_iter().zip(sides) {
        for row in table.rows().iter().filter(|row| variant.is_none() || row.variant.as_deref() == variant) {
            for score in row.scores.iter().filter(|score| is_own_column(&score.name)) {
                found.push((side, row, score));
            }
        }
    }
    found.retain(|(.., score)| matches!(score.verdict, Verdict::Pass | Verdict::Fail));
    found.sort_by_key(|(side, row, score)| (score.name.clone(), row.key, *side as u8, row.item, score.turn));
    let mut pairing = Pairing::new(3);
    for (side, row, score) in found {
        let (evaluator, item, variant) = (score.name.as_str(), row.item, row.variant.as_deref());
        let (row, ordinal, verdict, value) = (row.key, row.ordinal, score.verdict, score.value);
        pairing.add(Finding { evaluator, row, side, item, variant, ordinal, verdict, value });
    }
    pairing.finish()
}

/// A table that was saved and opened again has the same rows, and goes on as if it had not been.
fn again_from_bytes(grid: &Grid, changes: &[(usize, u64)]) {
    let kept: Arc<dyn Shelf> = Arc::<InMemory>::default();
    let head = grid.save(&mut |bytes| kept.put(bytes)).unwrap();
    let opened = Grid::open(&head, &kept, Arc::<InMemory>::default()).unwrap();
    let opened = opened.after_whole(grid.whole()).unwrap();
    let change = |(at, bits): &(usize, u64)| row((at % (grid.len() + 2)) as i64 * 3 + 3, bits.rotate_left(9));
    let same = |one: &Grid, other: &Grid| {
        let slots: Vec<u32> = (0..one.len() as u32).collect();
        assert_eq!((one.len(), one.names()), (other.len(), other.names()));
        assert_eq!(one.rows(&slots).unwrap(), other.rows(&slots).unwrap());
    };
    same(grid, &opened);
    same(&grid.with(changes.iter().map(change)).unwrap(), &opened.with(changes.iter().map(change)).unwrap());
    assert!(Grid::open(&head[..head.len() - 1], &kept, Arc::<InMemory>::default()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn columns_answer_as_plain_rows(
        seeds in prop::collection::vec(any::<u64>(), 1..120),
        changes in prop::collection::vec((any::<usize>(), any::<u64>()), 0..40),
        others in prop::collection::vec(any::<u64>(), 1..60),
        batch in 1usize..50,
        shuffled in any::<bool>(),
        variant in prop::option::of(Just("b")),
        questions in prop::collection::vec(condition(), 1..6),
    ) {
        let (grid, table) = tables(&seeds, &changes, batch, shuffled);
        prop_assert_eq!(grid.names(), table.names());
        let mut rows: Vec<ResultRow> = (0..grid.len() as u32).map(|slot| grid.row(slot).unwrap()).collect();
        rows.sort_by_key(|row| row.item);
        prop_assert_eq!(&rows, table.rows());
        for (slot, row) in (0..grid.len() as u32).map(|slot| (slot, grid.row(slot).unwrap())) {
            let same = |other: &&ResultRow| other.key == row.key && other.variant == row.variant;
            let mut expected: Vec<_> = rows.iter().filter(same).map(|row| (row.trial, row.item, row.outcome)).collect();
            expected.sort_by_key(|(trial, item, _)| (*trial, *item));
            let trials: Vec<_> = grid.trials(slot).iter().map(|t| (t.trial, t.item, t.outcome)).collect();
            prop_assert_eq!(trials, expected);
        }
        again_from_bytes(&grid, &changes);
        let (before, plain_before) = tables(&others, &[], batch, shuffled);
        let compared = grid.compare(&before, [variant, None], 3);
        same(&compared, &plain_comparison([(&plain_before, variant), (&table, None)]), "comparison");
        let pairs = Pairs::new(&grid, before, variant);
        let baseline = Baseline::new(plain_before, variant);
        for question in &questions {
            check((&grid, &table), (None, None), question);
            check((&grid, &table), (Some(&pairs), Some(&baseline)), question);
        }
        let all: Vec<Name> = table.names().all();
        let first = Seen { row: &rows[0], baseline: None };
        prop_assert!(all.iter().all(|name| cell::cell(&first, name) == cell::cell(&table.seen(0, None), name)));
    }
}
