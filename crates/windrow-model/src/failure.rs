//! Errors of the work itself, classified. The class decides what happens next; the message is kept
//! verbatim (with secrets redacted by the code that made it).

use crate::json::Json;

crate::vocabulary! {
    /// Why a step or an attempt failed.
    pub enum ErrorClass {
        #[doc = "The endpoint could not be reached or the connection broke."]
        Network = "network",
        #[doc = "No answer within the deadline."]
        Timeout = "timeout",
        #[doc = "The endpoint asked to slow down (429, or its like)."]
        RateLimited = "rate_limited",
        #[doc = "The endpoint failed on its side (5xx)."]
        Server = "server",
        #[doc = "The account has no credit or quota left; waiting does not help."]
        Quota = "quota",
        #[doc = "The credential was refused."]
        Auth = "auth",
        #[doc = "The request itself is wrong; repeating it cannot succeed."]
        InvalidRequest = "invalid_request",
        #[doc = "The provider refused to answer for reasons of content."]
        ContentFilter = "content_filter",
        #[doc = "An answer came, but not of the form that was asked for."]
        InvalidOutput = "invalid_output",
        #[doc = "The code that handles the item failed or panicked."]
        Handler = "handler",
        #[doc = "The worker disappeared while it held the item."]
        Lost = "lost",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error, utoipa::ToSchema)]
#[error("{class}: {message}")]
pub struct Failure {
    pub class: ErrorClass,
    pub message: String,
    /// What the server asked for, in milliseconds from when the failure was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<i64>,
    /// The raw answer, redacted, for diagnosis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Json>,
    /// The setting of the job file that is to blame, where every other item would fail the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// It was tried for long enough: no retry follows.
    #[serde(skip)]
    pub given_up: bool,
}

impl ErrorClass {
    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            ErrorClass::Network => "check the address and the network, then retry the failed items",
            ErrorClass::Timeout => {
                "raise `timeout` in the job file, or lower `concurrency`, then retry the failed items"
            }
            ErrorClass::RateLimited => "set `limits` to what the provider allows, then retry the failed items",
            ErrorClass::Server => "wait until the endpoint has recovered, then retry the failed items",
            ErrorClass::Quota => "add credit or quota at the provider, then retry the failed items",
            ErrorClass::Auth => "check the API key and its permissions, then retry the failed items",
            ErrorClass::InvalidRequest => "correct the request in the job file or the row, then run the file again",
            ErrorClass::ContentFilter => "change the row or the prompt; the provider rejects the content",
            ErrorClass::InvalidOutput => "make the prompt or the schema more precise, then retry the failed items",
            ErrorClass::Handler => "correct the code that handles the item, then retry the failed items",
            ErrorClass::Lost => "check why workers end (memory, kills), then retry the failed items",
        }
    }

    /// The endpoint failed or was busy; the same call may succeed later.
    pub fn is_transient(self) -> bool {
        matches!(self, ErrorClass::Network | ErrorClass::Timeout | ErrorClass::RateLimited | ErrorClass::Server)
    }
}

impl Failure {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after_ms: None, detail: None, setting: None, given_up: false }
    }

    pub fn with_detail(mut self, detail: Json) -> Self {
        self.detail = Some(detail);
        self
    }

    pub fn at_setting(mut self, setting: impl Into<String>) -> Self {
        self.setting = Some(setting.into());
        self
    }

    pub fn give_up(mut self) -> Self {
        self.given_up = true;
        self
    }

    pub fn retry_after(mut self, ms: Option<i64>) -> Self {
        self.retry_after_ms = ms;
        self
    }
}
