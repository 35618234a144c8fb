//! `trials:` in a job file: how often each row is tried.

use std::collections::BTreeSet;
use std::ops::Range;

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::job_file::Section;

use super::dataset::DatasetSection;
use crate::definition::trials::{MAX_TRIALS, TRIAL};

pub struct Trials {
    pub count: u32,
    span: Range<usize>,
}

pub fn read(section: Option<Section>, problems: &mut Problems) -> Trials {
    let Some(section) = section else { return Trials { count: 1, span: 0..0 } };
    let span = section.node.span.clone();
    let given: Option<i64> = section.read(&[], problems);
    let count = given.and_then(|given| u32::try_from(given).ok()).filter(|count| (1..=MAX_TRIALS).contains(count));
    if let (Some(given), None) = (given, count) {
        let message = format!("`trials` is {given}, but must be 1 to {MAX_TRIALS}");
        problems.add(span.clone(), message, "say how often each row is tried");
    }
    Trials { count: count.unwrap_or(1), span }
}

impl Trials {
    /// The rows must leave the field free that tells trials apart.
    pub fn check(&self, dataset: &DatasetSection, fields: &BTreeSet<String>, problems: &mut Problems) {
        if self.count > 1 && fields.contains(TRIAL) {
            let message = format!("{} has a field `{TRIAL}`, which `trials` uses for itself", dataset.shown);
            problems.add(self.span.clone(), message, "rename the field in the dataset");
        }
    }
}
