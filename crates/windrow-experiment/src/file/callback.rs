//! `callback:` in a job file (E28): where a server sends the results, signed like a webhook.

use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::has_reference;
use windrow_jobfile::http_client::web_url;
use windrow_jobfile::job_file::Section;
use windrow_model::hook::{Topics, known_topics};

use crate::definition::spec::Callback;

pub fn read(section: Option<Section>, problems: &mut Problems) -> Option<Callback> {
    let section = section?;
    let callback: Callback = section.read(&[], problems)?;
    if let Err(wrong) = web_url(&callback.url) {
        problems.add(section.span_of("url"), format!("`callback.url`: {wrong}"), "write it like https://host/path");
    }
    if !has_reference(&callback.secret) {
        let help = "write \"${secret:NAME}\" and run `windrow secrets set NAME`, or \"${env:NAME}\"";
        let message = "`callback.secret` must be a reference: a job file is stored with every run";
        problems.add(section.span_of("secret"), message, help);
    }
    if let Err(wrong) = Topics::of(&callback.events) {
        let known = known_topics().into_iter().map(|(topic, _)| topic).collect::<Vec<_>>().join(", ");
        let help = format!("choose from {known}, a family such as run.*, or * for all");
        problems.add(section.span_of("events"), format!("`callback.events`: {wrong}"), help);
    }
    Some(callback)
}
