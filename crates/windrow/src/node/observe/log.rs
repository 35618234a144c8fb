//! Lines for people, or for machines: the same events either way, on stderr.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line to read
    Pretty,
    /// One JSON object per line
    Json,
}

/// A filter that cannot be read lets errors through.
pub fn start_log(format: LogFormat, filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("error"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Colours are for a screen, not for a file.
    let log = log.with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Pretty => log.init(),
        LogFormat::Json => log.json().flatten_event(true).with_current_span(true).with_span_list(false).init(),
    }
}
