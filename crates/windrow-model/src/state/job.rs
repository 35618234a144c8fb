//! A job is live while one of its runs is not final. Going live is the lock of E5: a second start
//! finds the job live and is refused.

use crate::machine::Machine;

crate::vocabulary! {
    pub enum JobState {
        #[doc = "No run of the job is under way."]
        Idle = "idle",
        #[doc = "One run of the job is not final; no other may start."]
        Live = "live",
    }
}

crate::vocabulary! {
    pub enum JobEvent {
        #[doc = "A run is submitted."]
        Start = "start",
        #[doc = "The run reached a final state."]
        End = "end",
    }
}

pub const JOB: Machine<JobState, JobEvent> = Machine {
    entity: "job",
    initial: &[JobState::Idle],
    table: &[(JobState::Idle, JobEvent::Start, JobState::Live), (JobState::Live, JobEvent::End, JobState::Idle)],
};
