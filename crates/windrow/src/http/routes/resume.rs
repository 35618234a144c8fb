//! `POST /jobs` with `resume`: what `windrow run FILE` means where the work is done by this server.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use windrow_jobfile::LoadedJob;
use windrow_model::SessionId;
use windrow_model::record::Run;
use windrow_model::state::Mode;
use windrow_wire::Submitted;

use crate::app::error::Result;
use crate::app::resolve_run::{self, Host, Wanted};
use crate::app::wiring::App;
use crate::http::error::ApiError;
use crate::http::middleware::caller::Caller;
use crate::http::server::Server;

pub async fn submit(
    server: &Server,
    caller: &Caller,
    file: LoadedJob,
    mode: Mode,
    fresh: bool,
) -> std::result::Result<Response, ApiError> {
    let wanted = match (mode, fresh) {
        (Mode::Submit, false) => Wanted::Usual,
        (Mode::Submit, true) => Wanted::Afresh,
        (Mode::Append, false) => Wanted::Append,
        (Mode::Rescore, false) => Wanted::Rescore,
        (Mode::Online, false) => Wanted::Online,
        _ => {
            let remedy = "use submit, append, rescore or online; `fresh` goes with submit";
            return Err(ApiError::bad("mode", format!("`resume` does not fit {mode}"), remedy));
        }
    };
    let host = Serving { server, actor: &caller.actor };
    let course = resolve_run::course(&server.app, &file, wanted, &host).await?;
    server.engine().wake();
    let status = if course.resumed { StatusCode::OK } else { StatusCode::CREATED };
    let answer = Submitted {
        job: course.job.to_string(),
        name: file.name,
        run: course.run.to_string(),
        existing: false,
        warnings: file.warnings,
        resumed: course.resumed,
        notes: course.notes,
    };
    Ok((status, [(LOCATION, format!("/api/v1/jobs/{}", answer.job))], Json(answer)).into_response())
}

/// The engine of this server takes on whatever is unfinished.
struct Serving<'a> {
    server: &'a Server,
    actor: &'a str,
}

impl Host for Serving<'_> {
    fn actor(&self) -> &str {
        self.actor
    }

    fn is(&self, session: SessionId) -> bool {
        session == self.server.engine().session()
    }

    async fn end(&self, _: &App, run: &Run) -> Result<()> {
        self.server.engine().wake();
        self.server.engine().settled(run.id).await?;
        Ok(())
    }
}
