//! The row of the baseline that each row is compared with.

use std::sync::Arc;

use crate::columns::Grid;

const NONE: u32 = u32::MAX;

/// As [`crate::table::Baseline`] pairs them.
#[derive(Debug)]
pub struct Pairs {
    baseline: Arc<Grid>,
    /// By slot.
    before: Box<[u32]>,
}

impl Pairs {
    /// With all rows of another table, or those of one variant.
    pub fn new(grid: &Grid, baseline: Arc<Grid>, variant: Option<&str>) -> Self {
        let mut before = vec![NONE; grid.len()];
        let mut rest = baseline.slots_by_key();
        let key = |slot: u32| baseline.at(slot).key();
        let variant_of = |slot: u32| baseline.at(slot).variant(&baseline.lexicon);
        for own in grid.slots_by_key().chunk_by(|a, b| grid.at(*a).key() == grid.at(*b).key()) {
            let of_row = grid.at(own[0]).key();
            let skipped = rest.iter().take_while(|slot| key(**slot) < of_row).count();
            let same = rest[skipped..].iter().take_while(|slot| key(**slot) == of_row).count();
            let candidates = &rest[skipped..skipped + same];
            rest = &rest[skipped + same..];
            for slot in own {
                let at = grid.at(*slot);
                let own_variant = at.variant(&grid.lexicon);
                if variant.is_some() && variant == own_variant {
                    continue;
                }
                let likeness =
                    |other: &&u32| (variant_of(**other) == own_variant, baseline.at(**other).trial() == at.trial());
                let fits = candidates.iter().filter(|other| variant.is_none() || variant_of(**other) == variant);
                before[*slot as usize] = fits.rev().max_by_key(likeness).copied().unwrap_or(NONE);
            }
        }
        Self { before: before.into(), baseline: baseline.clone() }
    }

    pub fn grid(&self) -> &Arc<Grid> {
        &self.baseline
    }

    pub fn of(&self, slot: u32) -> Option<u32> {
        self.before.get(slot as usize).copied().filter(|before| *before != NONE)
    }
}
