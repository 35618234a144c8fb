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

/// Of commands that delete or restore something.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Precautions {
    #[command(flatten)]
    confirmation: Confirmation,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl Precautions {
    /// Asks whether to do `what`, e.g. `delete job "a"`. False: it is a dry run and ends here.
    pub fn ask(self, what: &str, consequence: &str, to: &str) -> Result<bool> {
        if self.dry_run {
            would(what);
            return Ok(false);
        }
        let mut letters = what.chars();
        let capital = letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters);
        self.confirmation.ask(&format!("{}? {consequence}", capital.collect::<String>()), to)?;
        Ok(true)
    }
}

/// The end of a dry run.
pub fn would(what: &str) {
    output::print(&format!("Would {what}.\nDry run: nothing was changed."));
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
