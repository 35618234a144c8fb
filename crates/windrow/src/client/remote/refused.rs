//! An answer that is no, as the error that a command on a folder would have given.

use std::sync::Arc;

use reqwest::{Response, StatusCode};
use windrow_jobfile::Report;
use windrow_jobfile::diagnostics::{About, Excerpt, Problem as Found};
use windrow_wire::{PlacedProblem, Problem};

use crate::app::error::{Code, Error};
use crate::app::exit::Exit;
use crate::client::remote::Remote;

pub async fn error(remote: &Remote, answer: Response) -> Error {
    let status = answer.status();
    let body = answer.bytes().await.unwrap_or_default();
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => of_problem(remote, status, problem),
        Err(_) => {
            let what = format!("{} answered {status} and not as a Windrow server does", remote.url());
            Error::new(what, "check the address, and what stands between here and there").coded(Code::Unavailable)
        }
    }
}

fn of_problem(remote: &Remote, status: StatusCode, problem: Problem) -> Error {
    let code = problem.code.parse().unwrap_or(Code::Failed);
    if !problem.problems.is_empty() {
        return Error::File(report(code, problem.problems));
    }
    let remedy = match status {
        StatusCode::UNAUTHORIZED => "put an API key of the server into WINDROW_API_KEY, or name its file with \
                                     `--api-key-file`"
            .to_owned(),
        _ => addressed(remote, problem.remedy.unwrap_or_default()),
    };
    let exit = match code {
        Code::BudgetSpent => Exit::BudgetSpent,
        Code::BadRequest => Exit::Usage,
        _ => Exit::Error,
    };
    Error::new(problem.detail, remedy).coded(code).ending_with(exit)
}

/// The server cannot know how it is addressed from here.
fn addressed(remote: &Remote, remedy: String) -> String {
    remedy.replace("`windrow ", &format!("`{}", remote.command("")))
}

fn report(code: Code, problems: Vec<PlacedProblem>) -> Report {
    let about = if code == Code::BrokenJobFile { About::JobFile } else { About::Dataset };
    Report { about, problems: problems.into_iter().map(found).collect() }
}

fn found(problem: PlacedProblem) -> Found {
    let found = Found::new(problem.message, problem.remedy);
    let Some(first_line) = problem.line else { return found };
    // Rows that were sent belong to no file.
    let name = problem.file.unwrap_or_else(|| "row".to_owned());
    let text = problem.text.unwrap_or_default();
    let span = 0..text.len();
    found.at(&Arc::new(Excerpt { name, text, first_line }), span)
}
