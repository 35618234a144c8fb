//! Rows that are held until the transaction ends, and read when they are: what was read before may have changed while
//! we waited for them.

use std::ops::ControlFlow;

use crate::backend::{Cell, Connection, Result, Row, params_from_iter};

/// As many are listed in one statement where there are no arrays.
const LISTED: usize = 1024;

impl Connection {
    /// A file has one writer, who holds everything.
    pub fn lock(&self, table: &str, ids: impl IntoIterator<Item = i64>) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        self.hold(table, "id", ids, |_| Ok(()))
    }

    /// Holds the rows with these ids and tells of each that exists, in the order of their ids.
    pub fn hold(
        &self,
        table: &str,
        columns: &str,
        ids: impl IntoIterator<Item = i64>,
        each: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        // In one order, so that two who want the same rows do not wait for each other.
        let mut ids: Vec<i64> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut each = go_on(each);
        match (self, ids.as_slice()) {
            (_, []) => Ok(()),
            (_, [id]) => {
                let sql = format!("SELECT {columns} FROM {table} WHERE id = ?1 FOR UPDATE");
                self.prepare_cached(&sql)?.walk([*id], each)
            }
            (Connection::MySql(_), many) => {
                many.chunks(LISTED).try_for_each(|some| self.hold_listed(table, columns, some, &mut each))
            }
            (_, many) => {
                let many: Vec<Option<i64>> = many.iter().copied().map(Some).collect();
                self.prepare_cached(&hold_many(table, columns))?.walk([Cell::Ints(&many)], each)
            }
        }
    }

    /// Where there are no arrays. The list is filled up to a power of two, so that few statements are prepared; rows are
    /// reached by their key alone, because one that is read on the way is locked as well.
    fn hold_listed(
        &self,
        table: &str,
        columns: &str,
        ids: &[i64],
        each: impl FnMut(&Row) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let places = vec!["?"; ids.len().next_power_of_two()];
        let listed: Vec<i64> = ids.iter().copied().chain(std::iter::repeat(ids[0])).take(places.len()).collect();
        let sql = format!(
            "SELECT {columns} FROM {table} FORCE INDEX (PRIMARY) WHERE id IN ({}) ORDER BY id FOR UPDATE",
            places.join(", ")
        );
        self.prepare_cached(&sql)?.walk(params_from_iter(&listed), each)
    }
}

/// Where there are arrays.
pub(crate) fn hold_many(table: &str, columns: &str) -> String {
    format!("SELECT {columns} FROM {table} WHERE id = ANY(?1) ORDER BY id FOR UPDATE")
}

fn go_on(mut each: impl FnMut(&Row) -> Result<()>) -> impl FnMut(&Row) -> Result<ControlFlow<()>> {
    move |row| each(row).map(|()| ControlFlow::Continue(()))
}
