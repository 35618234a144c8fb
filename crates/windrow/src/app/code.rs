//! What kind of trouble it is, in one word for programs. The words stay the same from version to version.

windrow_model::vocabulary! {
    pub enum Code {
        #[doc = "Something is not there."]
        NotFound = "not_found",
        #[doc = "The job has a live run already (ExperimentRunningExisted)."]
        RunningExisted = "running_existed",
        #[doc = "The run is in a state in which this may not happen."]
        ForbiddenTransition = "forbidden_transition",
        #[doc = "A job of this name is of another kind."]
        KindChanged = "kind_changed",
        #[doc = "The run takes no more items."]
        IntakeClosed = "intake_closed",
        #[doc = "The run has spent its budget."]
        BudgetSpent = "budget_spent",
        #[doc = "The request does not fit what is there."]
        Conflict = "conflict",
        #[doc = "The job file or its dataset is broken."]
        BrokenJobFile = "broken_job_file",
        #[doc = "Some of the rows that were sent are broken; none was taken."]
        BrokenRows = "broken_rows",
        #[doc = "Something has changed since it was looked at (If-Match)."]
        Changed = "changed",
        #[doc = "Jobs of this kind change nothing that could be undone."]
        NothingToUndo = "nothing_to_undo",
        #[doc = "The request itself is wrong."]
        BadRequest = "bad_request",
        #[doc = "No API key was sent, or it lets nobody in."]
        Unauthenticated = "unauthenticated",
        #[doc = "The workspace is not the caller's, or its role does not suffice."]
        Forbidden = "forbidden",
        #[doc = "The request comes from a page of another origin, or for another host."]
        ForeignOrigin = "foreign_origin",
        #[doc = "There is nothing at this address."]
        NoSuchRoute = "no_such_route",
        #[doc = "The address does not know this method."]
        MethodNotAllowed = "method_not_allowed",
        #[doc = "The body is larger than what is taken."]
        TooLarge = "too_large",
        #[doc = "The body is of a type that is not understood here."]
        UnsupportedType = "unsupported_type",
        #[doc = "The address speaks WebSocket only."]
        UpgradeRequired = "upgrade_required",
        #[doc = "So much waits already that no more is taken for now."]
        QueueFull = "queue_full",
        #[doc = "The caller asks more often than is allowed."]
        RateLimited = "rate_limited",
        #[doc = "The answer took too long; what was asked may or may not have happened."]
        TimedOut = "timed_out",
        #[doc = "The database cannot be reached or did not answer."]
        Unavailable = "unavailable",
        #[doc = "Something failed that should not."]
        Failed = "failed",
    }
}
