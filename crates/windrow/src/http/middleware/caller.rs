//! Who asks. One layer (`identify`) finds out and leaves a [`Caller`] with the request; every handler that acts or shows
//! something of a workspace takes it from there, acts under its name and stays inside its workspace. What is
//! elsewhere is answered exactly as what does not exist.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windrow_model::access::{DEFAULT_WORKSPACE, Role};
use windrow_model::record::{ItemDetail, Job, Run};
use windrow_model::{ItemId, KeyId};

use crate::app::error::{Code, Result};
use crate::app::lookup;
use crate::app::wiring::App;
use crate::http::error::ApiError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// For the logs.
    pub actor: String,
    pub role: Role,
    /// What let it in.
    pub key: Option<KeyId>,
    /// The only one it acts in and sees; `None` for all.
    pub workspace: Option<String>,
}

impl Caller {
    /// Without keys: nobody in particular, on this machine, who may do everything.
    pub fn open() -> Self {
        Self { actor: "http".to_owned(), role: Role::Admin, key: None, workspace: None }
    }

    /// Where that goes which names no workspace.
    pub fn home(&self) -> &str {
        self.workspace.as_deref().unwrap_or(DEFAULT_WORKSPACE)
    }

    pub fn sees(&self, workspace: &str) -> bool {
        self.workspace.as_deref().is_none_or(|own| own == workspace)
    }

    /// The same caller, staying in one workspace of those it may use.
    pub fn confined_to(mut self, workspace: &str) -> std::result::Result<Self, ApiError> {
        if !self.sees(workspace) {
            let detail = format!("the workspace {workspace:?} is not yours");
            return Err(ApiError::new(Code::Forbidden, detail, format!("stay in {:?}, or ask an admin", self.home())));
        }
        self.workspace = Some(workspace.to_owned());
        Ok(self)
    }

    /// The same caller, in the workspace that the request names, if it names one.
    pub fn within(self, named: Option<&str>) -> std::result::Result<Self, ApiError> {
        match named {
            Some(workspace) => self.confined_to(workspace),
            None => Ok(self),
        }
    }

    /// The job of this name or id, with its latest run.
    pub async fn job(&self, app: &App, text: &str) -> Result<(Job, Run)> {
        lookup::job_within(app, self.workspace.as_deref(), text).await
    }

    /// `JOB`, `JOB#3` or the id of a run.
    pub async fn run(&self, app: &App, text: &str) -> Result<(Job, Run)> {
        lookup::run_within(app, self.workspace.as_deref(), text).await
    }

    pub async fn item(&self, app: &App, id: ItemId) -> Result<(Job, ItemDetail)> {
        lookup::item_within(app, self.workspace.as_deref(), id).await
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Self, ApiError> {
        let missing = || ApiError::new(Code::Failed, "the request came in without anybody who asks", "");
        parts.extensions.get().cloned().ok_or_else(missing)
    }
}
