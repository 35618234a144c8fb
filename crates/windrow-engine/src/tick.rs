//! What one round of the dispatcher did for a run.

use windrow_model::record::Run;

pub enum Tick {
    /// Something was done; there may be more at once.
    Moved,
    /// Nothing to do now; the run as last read.
    Idle(Box<Run>),
    /// The run is closed, or this coordinator released it.
    Over,
}
