//! Rows of all tables under one number, sent table by table. A batch that was sent in part is sent again as a whole,
//! or read anew under a higher number: either way every row is there once.

use serde::Serialize;

use crate::client::{Client, Failure};
use crate::meters;
use crate::row::ItemRow;
use crate::schema::{ITEMS, JOBS, RESULTS, RUNS, STEPS};

#[derive(Debug)]
pub struct Batch {
    pub revision: i64,
    /// In the order in which they are sent: a job is known before its items.
    tables: [(&'static str, Lines); 5],
}

#[derive(Debug, Default)]
struct Lines {
    text: String,
    digest: Digest,
}

/// Rows, and a sum over them that does not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
pub struct Digest {
    pub rows: u64,
    pub sum: u64,
}

impl std::ops::AddAssign for Digest {
    fn add_assign(&mut self, more: Self) {
        self.rows += more.rows;
        self.sum = self.sum.wrapping_add(more.sum);
    }
}

impl Batch {
    pub fn new(revision: i64) -> Self {
        Self { revision, tables: [JOBS, RUNS, RESULTS, STEPS, ITEMS].map(|table| (table, Lines::default())) }
    }

    pub fn add(&mut self, table: &'static str, row: &impl Serialize) {
        let lines = self.lines(table);
        lines.text += &serde_json::to_string(row).expect("a row serialises to JSON");
        lines.text.push('\n');
        lines.digest += Digest { rows: 1, sum: 0 };
    }

    pub fn add_item(&mut self, table: &'static str, row: &ItemRow<'_>) {
        let revision = self.revision;
        let lines = self.lines(table);
        let sum = row.write(revision, &mut lines.text);
        lines.digest += Digest { rows: 1, sum };
    }

    /// One JSON object per line.
    pub fn lines_of(&self, table: &str) -> &str {
        let found = self.tables.iter().find(|(name, _)| *name == table);
        found.map_or("", |(_, lines)| &lines.text)
    }

    pub fn digest(&self, table: &str) -> Digest {
        let found = self.tables.iter().find(|(name, _)| *name == table);
        found.map_or(Digest::default(), |(_, lines)| lines.digest)
    }

    fn lines(&mut self, table: &'static str) -> &mut Lines {
        let found = self.tables.iter_mut().find(|(name, _)| *name == table);
        &mut found.expect("every table has its lines").1
    }

    pub async fn send(self, client: &Client, incarnation: &str) -> Result<(), Failure> {
        let token = format!("{incarnation}:{}", self.revision);
        for (table, lines) in self.tables.into_iter().filter(|(_, lines)| lines.digest.rows > 0) {
            client.insert(table, lines.text, &token).await?;
            meters::sent(table, lines.digest.rows);
        }
        Ok(())
    }
}
