//! `windrow secrets set NAME`

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use windrow_model::secret::MAX_BYTES;
use windrow_wire::SecretSet;

use crate::cli::Context;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

/// Keep a value under a name, for job files to name as ${secret:NAME}.
///
/// The value is asked for, or read from standard input or a file: never from the command line, where
/// other users and the shell's history would see it. One line break at its end is left out. It is
/// sealed before it is stored and never shown again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  windrow secrets set OPENAI_API_KEY                  asks for it
  pass show openai | windrow secrets set OPENAI_API_KEY
  windrow secrets set TLS_KEY --from-file client.pem")]
pub struct Args {
    /// Letters, digits, underscores, hyphens and dots
    name: String,
    /// Read the value from this file
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    /// `default`, or at a server that of the key, if not given
    #[arg(long)]
    workspace: Option<String>,
    #[arg(long)]
    json: bool,
}

pub async fn perform(context: Context, args: Args) -> Result<Exit> {
    let value = value(&args)?;
    let api = Api::create(&context.options, context.remote).await?;
    output::show(&api.set_secret(args.workspace.as_deref(), &args.name, &value).await?, args.json);
    Ok(Exit::Passed)
}

fn value(args: &Args) -> Result<String> {
    let (text, from) = match &args.from_file {
        Some(path) => (std::fs::File::open(path).and_then(read), path.display().to_string()),
        None if std::io::stdin().is_terminal() => {
            (rpassword::prompt_password(format!("value of {}: ", args.name)), "the terminal".to_owned())
        }
        None => (read(std::io::stdin().lock()), "standard input".to_owned()),
    };
    let unreadable = |error| Error::new(format!("no value could be read from {from}: {error}"), "give it as UTF-8");
    let text = text.map_err(unreadable)?;
    let value = text.strip_suffix('\n').unwrap_or(&text);
    Ok(value.strip_suffix('\r').unwrap_or(value).to_owned())
}

/// A little more than is taken, so that too much is noticed and an endless stream ends.
fn read(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(MAX_BYTES as u64 + 3).read_to_string(&mut text)?;
    Ok(text)
}

impl Show for SecretSet {
    fn text(&self) -> String {
        let did = if self.created { "keeps" } else { "has replaced" };
        format!(
            "windrow {did} {} in the workspace {}; a job file names it as ${{secret:{}}}",
            self.name, self.workspace, self.name
        )
    }
}
