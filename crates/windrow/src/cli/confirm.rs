//! Confirmation before something is lost.

use std::io::{BufRead, IsTerminal, Write};

use crate::cli::view::output;
use crate::error::{Error, Exit, Result};

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Confirmation {
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
}

impl Confirmation {
    /// Asks on a terminal, fails elsewhere; `to` completes "pass --yes to …".
    pub fn ask(self, question: &str, to: &str) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() {
            let what = format!("confirmation required: pass --yes to {to} without a prompt");
            return Err(Error::new(what, "").ending_with(Exit::Usage));
        }
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
            return Ok(());
        }
        output::say("Nothing was changed.");
        Err(Error::new("not confirmed", ""))
    }
}
