//! All results of a job as a file: a table with full texts, read and written page by page, or one page of HTML. A job that
//! runs can be exported, too: every item is there once, as it was when its page was read.

mod attempts;
mod html;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};
use windrow_jobfile::dataset::write::{self, Column, Out, RowWriter};
use windrow_jobfile::dataset::{Format as FileFormat, Profile};
use windrow_model::Json;
use windrow_model::label::NOTE;
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_results::cell::{cell, is_whole};
use windrow_results::{Condition, Kind, Name, Names, ResultRow, Seen, Survey};
use windrow_wire::ViewRequest;

use crate::app::actor::Actor;
use crate::app::views::question;
use crate::app::views::scan::{self, Scan, Scanned};
use crate::app::{App, lookup};
use crate::error::{Code, Error, Result};

const PAGE: usize = 100;

windrow_model::vocabulary! {
    pub enum Format {
        #[doc = "One JSON object per line."]
        Jsonl = "jsonl",
        #[doc = "Comma-separated values with a line of column names."]
        Csv = "csv",
        #[doc = "Apache Parquet."]
        Parquet = "parquet",
        #[doc = "One HTML page without external resources."]
        Html = "html",
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Results of this run, by its number; the current results of all items if not given.
    pub run: Option<i64>,
    pub condition: Option<String>,
    pub columns: Option<Vec<String>>,
    /// A row per attempt.
    pub attempts: bool,
    /// The baseline of the HTML page.
    pub vs: Option<String>,
}

/// What is checked and known before the first byte is written.
pub struct Export {
    job: Job,
    what: What,
}

enum What {
    Table(Box<TableExport>),
    Html(Box<html::Page>),
}

struct TableExport {
    format: FileFormat,
    runs: Vec<Run>,
    run: Option<i64>,
    condition: Option<Condition>,
    columns: Vec<(Name, Column)>,
    survey: Survey,
    attempts: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("{0:?}")]
    Read(Error),
    #[error("cannot write the results: {0}")]
    Written(#[from] io::Error),
}

pub async fn prepare(app: &App, actor: &Actor, job: &str, format: Format, request: Request) -> Result<Export> {
    let (job, _) = lookup::job(app, actor, job).await?;
    let file = match format {
        Format::Jsonl => FileFormat::Jsonl,
        Format::Csv => FileFormat::Csv,
        Format::Parquet => FileFormat::Parquet,
        Format::Html => {
            let page = html::prepare(app, actor, &job, request).await?;
            return Ok(Export { job, what: What::Html(Box::new(page)) });
        }
    };
    if request.vs.is_some() {
        let remedy = "pass `--format html`, or list differences with `windrow results --vs`";
        return Err(Error::new("only the HTML page has a baseline", remedy).coded(Code::BadRequest).about("vs"));
    }
    let table = survey(app, &job, file, request).await?;
    Ok(Export { job, what: What::Table(Box::new(table)) })
}

/// Reads everything once, for the names of the columns and the types of their values.
async fn survey(app: &App, job: &Job, format: FileFormat, request: Request) -> Result<TableExport> {
    let runs = app.store.runs(job.id).await?;
    let (mut survey, mut profile) = (Survey::default(), Profile::default());
    let mut scan = Scan::new(app, job, &runs, request.run, PAGE)?;
    while let Some(page) = scan.next(app).await? {
        for (detail, made) in &page {
            let row = ResultRow::whole(detail, made.as_ref(), |run| scan.number_of(run));
            match detail.item.group {
                Some(_) => survey.add(&row),
                None => survey.add_alone(&row),
            }
            profile.add(&row.fields);
        }
    }
    if profile.cut && format != FileFormat::Jsonl {
        let what = format!("the rows have more than {} different fields, too many for columns", profile.fields.len());
        return Err(
            Error::new(what, "use `--format jsonl`, or choose columns with `--columns`").coded(Code::BadRequest)
        );
    }
    let names = survey.names();
    let asked = ViewRequest { r#where: request.condition, columns: request.columns.clone(), ..Default::default() };
    let asked = question::parse(&asked, &names)?;
    let columns = if request.columns.is_some() { asked.columns } else { all_columns(&names) };
    let columns = columns.into_iter().map(|name| (column_of(&name, &profile), name)).map(|(kind, name)| (name, kind));
    let columns = columns.collect();
    let (condition, run, attempts) = (asked.condition, request.run, request.attempts);
    Ok(TableExport { format, runs, run, condition, columns, survey, attempts })
}

fn all_columns(names: &Names) -> Vec<Name> {
    let mut columns = vec![Name::Id, Name::Row, Name::Key];
    if !names.variants.is_empty() {
        columns.extend([Name::Variant, Name::Target, Name::Prompt]);
    }
    columns.extend([Name::Trial, Name::Run, Name::State, Name::Outcome, Name::Error, Name::Message, Name::Tries]);
    columns.extend([
        Name::Turns,
        Name::Flaky,
        Name::Removed,
        Name::LatencyMs,
        Name::TokensIn,
        Name::TokensOut,
        Name::Cost,
    ]);
    columns.extend([Name::FinishedAt, Name::Trace]);
    columns.extend(names.fields.iter().map(|(name, kind)| Name::Field(name.clone(), *kind)));
    columns.push(Name::Output);
    columns.extend(names.outputs.iter().cloned().map(Name::OutputOf));
    for evaluator in &names.evaluators {
        columns.extend([Name::Score, Name::Verdict, Name::Reason].map(|of| of(evaluator.clone())));
    }
    if !names.labels.is_empty() {
        columns.push(Name::Reviewed);
    }
    for name in &names.labels {
        columns.push(Name::Label(name.clone()));
        columns.extend((name != NOTE).then(|| Name::Corrected(name.clone())));
    }
    columns
}

fn column_of(name: &Name, profile: &Profile) -> Column {
    match name {
        Name::Field(field, _) => {
            profile.fields.get(field).map_or(Column::Json, |field| Column::of_present(&field.types))
        }
        Name::Flaky | Name::Removed | Name::Reviewed => Column::Boolean,
        name if is_whole(name) => Column::Integer,
        name if name.kind() == Kind::Number => Column::Number,
        _ => Column::Text,
    }
}

impl Export {
    pub fn file_name(&self, format: Format) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
        format!("{}.{format}", self.job.name.chars().map(plain).collect::<String>())
    }

    /// `None` for the page, which has a table of its own.
    pub fn columns(&self) -> Option<usize> {
        match &self.what {
            What::Table(table) => Some(table.names().len()),
            What::Html(_) => None,
        }
    }

    /// `written` counts rows.
    pub async fn write(self, app: &App, out: Out, written: &AtomicU64) -> std::result::Result<(), ExportError> {
        match self.what {
            What::Table(table) => table.write(app, &self.job, out, written).await,
            What::Html(page) => {
                written.store(page.rows(), Ordering::Relaxed);
                blocking(move || page.write(out)).await
            }
        }
    }
}

impl TableExport {
    fn names(&self) -> Vec<(String, Column)> {
        let own = self.columns.iter().map(|(name, column)| (name.to_string(), *column));
        let of_attempts = if self.attempts { attempts::COLUMNS } else { &[] };
        of_attempts.iter().map(|(name, column)| ((*name).to_owned(), *column)).chain(own).collect()
    }

    async fn write(self, app: &App, job: &Job, out: Out, written: &AtomicU64) -> std::result::Result<(), ExportError> {
        let (format, columns) = (self.format, self.names());
        let open = move || write::table(format, out, columns).map_err(io::Error::other);
        let mut writer = blocking(open).await?;
        let mut scan = Scan::new(app, job, &self.runs, self.run, PAGE).map_err(ExportError::Read)?;
        while let Some(page) = scan.next(app).await.map_err(ExportError::Read)? {
            let rows = self.rows(app, job, &scan, page).await.map_err(ExportError::Read)?;
            written.fetch_add(rows.len() as u64, Ordering::Relaxed);
            writer = blocking(move || write_rows(writer, &rows)).await?;
        }
        blocking(move || writer.finish()).await
    }

    async fn rows(&self, app: &App, job: &Job, scan: &Scan, page: Vec<Scanned>) -> Result<Vec<Map<String, Value>>> {
        let number_of = |run| scan.number_of(run);
        let whole = scan::whole(app, job, &self.runs).await?.map_or(0, |(_, number)| number);
        let complete =
            |detail: &ItemDetail, row: ResultRow| ResultRow { removed: scan.is_removed(detail, whole), ..row };
        if !self.attempts {
            let row = |(detail, made): &Scanned| complete(detail, ResultRow::whole(detail, made.as_ref(), number_of));
            return Ok(page.iter().filter_map(|found| self.fields(row(found), &[])).collect());
        }
        let runs: Vec<&Run> = self.runs.iter().filter(|run| self.run.is_none_or(|no| run.no == no)).collect();
        let mut rows = Vec::new();
        for (detail, attempt, made) in attempts::of(app, &runs, &page).await? {
            let row = complete(detail, ResultRow::whole(detail, Some(&made), number_of));
            rows.extend(self.fields(row, &attempts::cells(attempt)));
        }
        Ok(rows)
    }

    /// `None` if the condition does not hold. It sees the previews, as in the table.
    fn fields(&self, mut row: ResultRow, more: &[(&str, Value)]) -> Option<Map<String, Value>> {
        row.flaky = self.survey.is_flaky(&row);
        if let Some(condition) = &self.condition {
            let short = row.clone().shortened();
            condition.holds(&Seen { row: &short, baseline: None }).then_some(())?;
        }
        let seen = Seen { row: &row, baseline: None };
        let own = self.columns.iter().map(|(name, _)| (name.to_string(), cell(&seen, name)));
        let all = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).chain(own);
        // A missing value is null in JSON and nothing in a column.
        Some(all.filter(|(_, value)| self.format == FileFormat::Jsonl || !value.is_null()).collect())
    }
}

fn write_rows(mut writer: Box<dyn RowWriter>, rows: &[Map<String, Value>]) -> io::Result<Box<dyn RowWriter>> {
    for row in rows {
        writer.write(&Json::of(row))?;
    }
    Ok(writer)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> std::result::Result<T, ExportError> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(io::Error::other)??)
}
