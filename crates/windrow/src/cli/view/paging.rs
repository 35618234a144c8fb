//! Pages of lists that the server answers whole.

use crate::cli::view::output::{self, Show};
use crate::error::{Error, Exit, Result};
use crate::text::style;

#[derive(Debug, Clone, clap::Args)]
pub struct Paging {
    /// Maximum number of rows [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

impl Paging {
    /// Shows one page of the list. `rows` are its rows, `key` identifies one.
    pub fn show<L: Show, T>(
        &self,
        mut list: L,
        rows: impl FnOnce(&mut L) -> &mut Vec<T>,
        key: impl Fn(&T) -> String,
        json: bool,
    ) -> Result<()> {
        let next = self.cut(rows(&mut list), key)?;
        output::show(&list, json);
        if let Some(next) = next.filter(|_| !json) {
            output::print(&more(&next));
        }
        Ok(())
    }

    /// Keeps one page; returns the cursor of the next one, if there is one.
    fn cut<T>(&self, rows: &mut Vec<T>, key: impl Fn(&T) -> String) -> Result<Option<String>> {
        if let Some(after) = &self.after {
            let Some(at) = rows.iter().position(|row| key(row) == *after) else {
                let what = format!("unknown cursor {after:?}");
                return Err(Error::new(what, "start again without `--after`").ending_with(Exit::Usage));
            };
            rows.drain(..=at);
        }
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        if rows.len() <= limit {
            return Ok(None);
        }
        rows.truncate(limit);
        Ok(rows.last().map(key))
    }
}

/// The line under a page that is not the last.
pub fn more(next: &str) -> String {
    style::dim(format!("more: --after={next}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_every_row_once() {
        let (mut after, mut seen) = (None, Vec::new());
        for _ in 0..3 {
            let mut rows: Vec<i64> = (0..5).collect();
            let paging = Paging { limit: Some(2), after };
            after = paging.cut(&mut rows, i64::to_string).unwrap();
            seen.extend(rows);
        }
        assert_eq!((seen, after), ((0..5).collect(), None));
        let all = Paging { limit: None, after: None };
        let mut rows = vec![1, 2];
        assert_eq!((all.cut(&mut rows, i64::to_string).unwrap(), rows), (None, vec![1, 2]));
        let gone = Paging { limit: None, after: Some("9".into()) };
        assert_eq!(gone.cut(&mut vec![1, 2], i64::to_string).unwrap_err().exit(), Exit::Usage);
    }
}
