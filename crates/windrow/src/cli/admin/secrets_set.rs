//! `windrow secrets set NAME`

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use windrow_model::secret::MAX_BYTES;
use windrow_wire::SecretSet;

use crate::cli::Context;
use crate::cli::view::output::{self, Show};
use crate::client::api::Api;
use crate::error::{Error, Exit, Result};

/// Set a secret, for job files to use as ${secret:NAME}
///
/// The value comes from a prompt, standard input or a file, never from the command line, where other users and the
/// shell history could see it. One trailing line break is removed. The value is encrypted and never shown again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Secret name: letters, digits, underscores, hyphens and dots
    name: String,
    /// Read the value from this file
    #[arg(long, value_name = "FILE")]
    from_file: Option<PathBuf>,
    /// Workspace [default: `default`, or the workspace of the API key]
    #[arg(long)]
    workspace: Option<String>,
    /// Print JSON to stdout
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
    let unreadable =
        |error| Error::new(format!("cannot read the value from {from}: {error}"), "the value must be UTF-8 text");
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
        let did = if self.created { "Set" } else { "Replaced" };
        format!(
            "{did} secret {} in workspace {}. Use it in job files as ${{secret:{}}}",
            self.name, self.workspace, self.name
        )
    }
}
