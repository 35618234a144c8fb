//! The results as one HTML page that loads nothing: score cards, histograms, regressions, worst rows and a table to
//! filter. All numbers come from views, so that the page and `windrow results` agree.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use windrow_jobfile::dataset::write::Out;
use windrow_model::record::Job;
use windrow_wire::{ResultView, TableRow, ViewRequest};

use crate::app::actor::Actor;
use crate::app::export::Request;
use crate::app::results::{self, Options};
use crate::app::{App, views};
use crate::error::{Code, Error, Result};

const PAGE: &str = include_str!("page.html");
/// Where the data goes.
const MARK: &str = "\"WINDROW_DATA\"";
/// Rows in the table; a browser filters so many without delay.
const MAX_ROWS: usize = 10_000;
const WORST: usize = 10;
const REGRESSED: usize = 20;

#[derive(Serialize)]
pub struct Page {
    view: ResultView,
    rows: Vec<TableRow>,
    worst: Vec<TableRow>,
    regressed: Vec<TableRow>,
}

pub async fn prepare(app: &App, actor: &Actor, job: &Job, request: Request) -> Result<Page> {
    if request.attempts {
        let remedy = "use another format";
        return Err(Error::new("the HTML page has no attempts", remedy).coded(Code::BadRequest).about("attempts"));
    }
    let vs = match request.vs {
        Some(vs) => Some(vs),
        None => baseline(app, actor, job, request.run).await?,
    };
    let asked = ViewRequest {
        run: request.run,
        vs,
        r#where: request.condition,
        columns: request.columns,
        ..Default::default()
    };
    let id = job.id.to_string();
    let view = views::create(app, actor, &id, asked.clone()).await?;
    let rows = views::rows(app, actor, &id, &view.view, views::Page::At(0), MAX_ROWS).await?.rows;
    let names: Vec<&str> = view.metrics.iter().map(|metric| metric.name.as_str()).collect();
    let listed = Listed { app, actor, job: &id, asked: &asked };
    let worst = listed.rows(&names, WORST, |name| (format!("verdict.{name} = fail"), format!("score.{name}"))).await?;
    let regressed = match view.vs.is_some() {
        true => {
            let of = |name: &str| (format!("change.{name} = regressed"), format!("delta.{name}"));
            listed.rows(&names, REGRESSED, of).await?
        }
        false => Vec::new(),
    };
    Ok(Page { view, rows, worst, regressed })
}

struct Listed<'a> {
    app: &'a App,
    actor: &'a Actor,
    job: &'a str,
    asked: &'a ViewRequest,
}

impl Listed<'_> {
    /// The first rows for every evaluator, each row once.
    async fn rows(&self, names: &[&str], limit: usize, of: impl Fn(&str) -> (String, String)) -> Result<Vec<TableRow>> {
        let (mut rows, mut known) = (Vec::new(), BTreeSet::new());
        for name in names {
            let (condition, sort) = of(&quoted(name));
            let condition = match &self.asked.r#where {
                Some(also) if !also.trim().is_empty() => format!("({also}) and {condition}"),
                _ => condition,
            };
            let asked = ViewRequest { r#where: Some(condition), sort: Some(sort), ..self.asked.clone() };
            let view = views::create(self.app, self.actor, self.job, asked).await?;
            let page = views::rows(self.app, self.actor, self.job, &view.view, views::Page::At(0), limit).await?;
            rows.extend(page.rows.into_iter().filter(|row| known.insert(row.item.clone())));
        }
        Ok(rows)
    }
}

/// A part of a name that is not a plain word.
fn quoted(name: &str) -> String {
    match name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// The baseline that the gates of the run use, if it has ended.
async fn baseline(app: &App, actor: &Actor, job: &Job, no: Option<i64>) -> Result<Option<String>> {
    let runs = app.store.runs(job.id).await?;
    let run = runs.iter().find(|run| no.is_none_or(|no| run.no == no) && (no.is_some() || run.id == job.latest_run));
    let Some(run) = run.filter(|run| run.state.is_final() && job.kind == windrow_experiment::KIND) else {
        return Ok(None);
    };
    let assessed = results::assessment(app, actor, &run.id.to_string(), &Options::default()).await?;
    Ok(assessed.baseline.map(|(_, before)| before.id.to_string()))
}

impl Page {
    pub fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn write(&self, mut out: Out) -> io::Result<()> {
        let (head, tail) = PAGE.split_once(MARK).ok_or_else(|| io::Error::other("the page has no place for data"))?;
        // The text of a row must not end the script.
        let data = serde_json::to_string(self)?.replace('<', "\\u003c");
        for part in [head, &data, tail] {
            out.write_all(part.as_bytes())?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing() {
        for part in ["http:", "https:", "src=", "href=", "url(", "@import", "fetch("] {
            assert!(!PAGE.contains(part), "{part}");
        }
        assert!(PAGE.contains("default-src 'none'"));
        assert_eq!(PAGE.matches(MARK).count(), 1);
    }
}
