//! Whether result tables that are kept on disk say what the records say: each file is whole, and a sample of its rows is
//! derived again.

use crate::app::App;
use crate::app::doctor::Check;
use crate::app::views::rebuild::{self, Checked};
use crate::error::Result;
use crate::text;

const NAME: &str = "result tables";
/// Rows of each table that are compared.
const SAMPLE: usize = 500;

pub async fn check(app: &App) -> Result<Check> {
    Ok(judge(&rebuild::check(app, SAMPLE).await?))
}

fn judge(tables: &[Checked]) -> Check {
    let rows: usize = tables.iter().map(|table| table.rows).sum();
    if let Some(wrong) = tables.iter().find(|table| table.differing.is_some_and(|rows| rows > 0)) {
        let differing = text::plural(wrong.differing.unwrap_or_default() as i64, "row");
        let finding = format!("{} of {} compared in {} differ from the records", differing, wrong.rows, name(wrong));
        return Check::failure(NAME, finding, format!("windrow results rebuild {}", wrong.job));
    }
    if let Some(damaged) = tables.iter().find(|table| table.differing.is_none()) {
        let finding = format!("the file of {} is damaged or of another version", name(damaged));
        let remedy =
            format!("nothing to do: the table is rebuilt when it is opened; or delete {}", damaged.path.display());
        return Check::warning(NAME, finding, remedy);
    }
    match tables.len() {
        0 => Check::ok(NAME, "none kept"),
        n => Check::ok(NAME, format!("{n} checked; {} compared with the records", text::plural(rows as i64, "row"))),
    }
}

fn name(table: &Checked) -> String {
    match table.run {
        Some(run) => format!("{}#{run}", table.job),
        None => table.job.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::doctor::Grade;

    #[test]
    fn a_wrong_row_is_worse_than_a_damaged_file() {
        let table = |run, differing| {
            let path = "tables/x.table".into();
            Checked { job: "support".to_owned(), run, rows: 40, differing, path }
        };
        let good = judge(&[table(None, Some(0)), table(Some(2), Some(0))]);
        assert_eq!((good.grade, good.finding.as_str()), (Grade::Ok, "2 checked; 80 rows compared with the records"));
        assert_eq!(judge(&[table(None, Some(0)), table(Some(2), None)]).grade, Grade::Warning);
        let wrong = judge(&[table(Some(2), None), table(None, Some(3))]);
        assert_eq!((wrong.grade, wrong.remedy.as_deref()), (Grade::Failure, Some("windrow results rebuild support")));
        assert_eq!(wrong.finding, "3 rows of 40 compared in support differ from the records");
    }
}
