//! List prices of the providers, in dollars per million tokens: `table.csv`, which `scripts/prices` writes from the price
//! map of `litellm`.

use std::sync::LazyLock;

use super::Price;

/// Sorted by name.
pub struct Table {
    /// The day it was written.
    pub dated: &'static str,
    rows: Vec<(&'static str, Price)>,
}

/// The mock model costs nothing; a price shows that money is counted.
const MOCK: Price =
    Price { input: 2.5, cached_input: Some(1.25), output: 10.0, batch_input: Some(1.25), batch_output: Some(5.0) };

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("table.csv")));

/// The day the table was written.
pub fn dated() -> &'static str {
    TABLE.dated
}

pub fn find(model: &str) -> Option<&'static Price> {
    TABLE.find(model)
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let (head, lines) = text.split_once('\n').unwrap_or_default();
        let rows = lines.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect();
        Self { dated: head.rsplit(", ").next().unwrap_or_default(), rows }
    }

    fn find(&self, model: &str) -> Option<&Price> {
        if model.starts_with("mock") {
            return Some(&MOCK);
        }
        self.get(model).or_else(|| {
            let ends = model.rmatch_indices(['-', '@', ':']).map(|(end, _)| end);
            ends.filter(|end| super::is_version(&model[*end..])).find_map(|end| self.get(&model[..end]))
        })
    }

    fn get(&self, model: &str) -> Option<&Price> {
        let place = self.rows.binary_search_by_key(&model, |(name, _)| name).ok()?;
        Some(&self.rows[place].1)
    }
}

fn row(line: &'static str) -> Option<(&'static str, Price)> {
    let mut cells = line.split(',');
    let name = cells.next()?;
    let mut price = || cells.next().and_then(|cell| cell.parse().ok());
    let (input, cached_input, output) = (price()?, price(), price().unwrap_or(0.0));
    Some((name, Price { input, cached_input, output, batch_input: price(), batch_output: price() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_price() {
        let text = include_str!("table.csv");
        let lines = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(lines > 500 && TABLE.rows.len() == lines, "{} of {lines}", TABLE.rows.len());
        assert!(TABLE.rows.is_sorted_by(|a, b| a.0 < b.0), "scripts/prices sorts by bytes");
        assert!(TABLE.rows.iter().all(|(_, price)| price.is_sane()));
        let day: Vec<&str> = dated().split('-').collect();
        assert!(day.len() == 3 && text.starts_with("# litellm "), "{}", dated());
    }
}
