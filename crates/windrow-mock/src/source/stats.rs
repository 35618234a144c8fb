//! Counts requests and pages, and pages that were served more than once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

#[derive(Debug, Default)]
pub struct Stats {
    shown: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    refused: u64,
    records: u64,
    pages: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize)]
pub struct Shown {
    requests: u64,
    /// Requests that got an injected error.
    refused: u64,
    pages: u64,
    distinct_pages: u64,
    records: u64,
}

impl Stats {
    fn with<T>(&self, work: impl FnOnce(&mut Counted) -> T) -> T {
        work(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn refused(&self) {
        self.with(|counted| {
            counted.requests += 1;
            counted.refused += 1;
        });
    }

    pub fn page(&self, name: String, records: usize) {
        self.with(|counted| {
            counted.requests += 1;
            counted.records += records as u64;
            *counted.pages.entry(name).or_default() += 1;
        });
    }

    pub fn show(&self) -> Shown {
        self.with(|counted| Shown {
            requests: counted.requests,
            refused: counted.refused,
            pages: counted.pages.values().sum(),
            distinct_pages: counted.pages.len() as u64,
            records: counted.records,
        })
    }
}
