//! An error response of a server, as the error that the command would have given on a data directory.

use std::sync::Arc;

use reqwest::{Response, StatusCode};
use windrow_jobfile::Report;
use windrow_jobfile::diagnostics::{About, Excerpt, Problem as Found};
use windrow_wire::{PlacedProblem, Problem};

use crate::client::remote::Remote;
use crate::error::{Code, Error};

pub async fn error(remote: &Remote, answer: Response) -> Error {
    let status = answer.status();
    let body = answer.bytes().await.unwrap_or_default();
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => of_problem(remote, status, problem),
        Err(_) => {
            let what = format!("unexpected response {status} from {}: not a Windrow server", remote.url());
            Error::new(what, "check the address, and any proxy in between").coded(Code::Unavailable)
        }
    }
}

fn of_problem(remote: &Remote, status: StatusCode, problem: Problem) -> Error {
    let code = problem.code.parse().unwrap_or(Code::Failed);
    if !problem.problems.is_empty() {
        return Error::File(report(code, problem.problems));
    }
    let remedy = match status {
        StatusCode::UNAUTHORIZED => "set WINDROW_API_KEY to an API key of the server, or pass its file with \
                                     `--api-key-file`"
            .to_owned(),
        _ => addressed(remote, problem.remedy.unwrap_or_default()),
    };
    let error = Error::new(problem.detail, remedy).coded(code);
    match problem.at {
        Some(place) => error.placed(place),
        None => error,
    }
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
    // In columns of the line; the text lacks its indentation.
    let start = problem.column.unwrap_or(1).saturating_sub(1);
    let length = problem.length.unwrap_or(text.len());
    found.at(&Arc::new(Excerpt { name, text, first_line }), start..start + length)
}
