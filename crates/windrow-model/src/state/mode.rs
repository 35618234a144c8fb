crate::vocabulary! {
    /// What a run does with the job's items.
    pub enum Mode {
        #[doc = "All rows of the source, new and known; finished steps are reused unless told otherwise."]
        Submit = "submit",
        #[doc = "Only items that failed, were cancelled or never finished."]
        FailRetry = "fail_retry",
        #[doc = "Only rows of the source that the job has not seen yet."]
        Append = "append",
        #[doc = "Items arrive while the run is open; draining closes the intake."]
        Online = "online",
        #[doc = "Finished items again, to compute what changed about their evaluation."]
        Rescore = "rescore",
        #[doc = "Items that were changed, in reverse order, back to their recorded pre-image."]
        Rollback = "rollback",
    }
}

impl Mode {
    /// Whether items come from the job's source (page by page) or from the job's own items.
    pub fn reads_source(self) -> bool {
        matches!(self, Mode::Submit | Mode::Append)
    }

    /// How the schedule starts a job of this kind: rows that are new join an experiment, while a plan reads its
    /// slices again, each from its own checkpoint.
    pub fn scheduled(kind: &str) -> Self {
        match kind {
            "ingest" => Mode::Submit,
            _ => Mode::Append,
        }
    }

    /// Whether scores of earlier runs are kept in addition to the new ones.
    pub fn keeps_columns(self) -> bool {
        matches!(self, Mode::Rescore | Mode::FailRetry)
    }
}
