//! Help: the grouped screen of `windrow`, the help of every command, and the topics of `windrow help`.

use clap::{Command, CommandFactory};

use crate::cli::view::output;
use crate::cli::{Cli, examples};
use crate::error::{Error, Exit, Result};
use crate::node::config;
use crate::text::style;

/// Heading, commands with their summary, commands by name only.
const GROUPS: &[(&str, &[&str], &[&str])] = &[
    ("Run work", &["init", "check", "run", "plan"], &[]),
    ("Inspect results", &["results", "compare", "trends", "label", "agreement", "gates", "report", "export"], &[]),
    ("Manage", &["jobs", "datasets", "ingest", "secrets"], &[]),
    ("Server", &["serve", "worker"], &["analytics", "nodes", "keys", "webhooks", "alerts", "audit"]),
    ("Maintenance", &["doctor"], &["config", "backup", "restore", "migrate-store", "completions", "mock"]),
];
const FOOTER: &str = "\
Get started:  windrow run capitals.yaml
Learn more:   windrow <COMMAND> --help · windrow help options · windrow help exit-codes";
const GLOBAL: &str = "Global options: windrow help options";
const WIDTH: usize = 110;

/// Show the help of a command or a topic: options, exit-codes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A command, `options` or `exit-codes`
    #[arg(value_name = "COMMAND")]
    topic: Vec<String>,
}

pub fn perform(args: Args) -> Result<Exit> {
    let topic: Vec<&str> = args.topic.iter().map(String::as_str).collect();
    match topic.as_slice() {
        ["options"] => output::print(&options()),
        ["exit-codes"] => output::print(&Exit::help()),
        path => output::print(&of_command(path)?),
    }
    Ok(Exit::Passed)
}

/// The command line with its help: global options appear in `windrow help options` only.
pub fn command() -> Command {
    let command = Cli::command();
    let screen = screen(&command);
    let hidden = command.mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    with_examples(hidden.override_help(screen), "")
}

fn with_examples(command: Command, path: &str) -> Command {
    command.mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name()).trim_start().to_owned();
        let details = sub.get_after_help().map(|text| format!("{}\n\n", text.to_string().trim_end()));
        let examples = examples::of(&path).iter().map(|line| format!("  {line}\n")).collect::<String>();
        let examples = if examples.is_empty() { examples } else { format!("Examples:\n{examples}\n") };
        let after = format!("{}{examples}{GLOBAL}", details.unwrap_or_default());
        with_examples(sub.after_help(after).disable_help_subcommand(true), &path)
    })
}

fn screen(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut screen = format!("{about}.\n\n{} windrow <COMMAND> [OPTIONS]\n", style::bold("Usage:"));
    for (heading, described, named) in GROUPS {
        screen += &format!("\n{}\n", style::bold(heading));
        for name in *described {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            screen += &format!("  {name:<10}  {}\n", about.map(ToString::to_string).unwrap_or_default());
        }
        if !named.is_empty() {
            screen += &format!("  {}\n", named.join(", "));
        }
    }
    format!("{screen}\n{FOOTER}\n")
}

fn options() -> String {
    let command = config::settled(Cli::command(), None);
    let global = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().map(|arg| arg.global(false));
    let mut shown = Command::new("windrow")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .help_template("{all-args}")
        .max_term_width(WIDTH)
        .next_help_heading("Global options")
        .args(global);
    format!(
        "{}\nA flag takes precedence over its variable, the variable over the config file, the file over the default.",
        shown.render_long_help().ansi()
    )
}

fn of_command(path: &[&str]) -> Result<String> {
    let mut command = command().bin_name("windrow");
    command.build();
    let mut found = &mut command;
    for name in path {
        found = found.find_subcommand_mut(name).ok_or_else(|| {
            let what = format!("unknown command or topic `{}`", path.join(" "));
            Error::new(what, "run `windrow help` for a list").ending_with(Exit::Usage)
        })?;
    }
    Ok(found.render_long_help().ansi().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command that is shown, with its path.
    pub(crate) fn all() -> Vec<(String, Command)> {
        fn walk(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
                let path = format!("{path} {}", sub.get_name());
                found.push((path.clone(), sub.clone()));
                walk(sub, &path, found);
            }
        }
        let mut root = command().bin_name("windrow");
        root.build();
        let mut found = Vec::new();
        walk(&root, "windrow", &mut found);
        found
    }

    #[test]
    fn every_command_is_on_the_screen() {
        let screen = screen(&Cli::command());
        for (path, _) in all().iter().filter(|(path, _)| path.split(' ').count() == 2 && path != "windrow help") {
            let name = path.trim_start_matches("windrow ");
            assert!(screen.contains(&format!("{name}  ")) || screen.contains(name), "{name} is missing:\n{screen}");
        }
    }

    #[test]
    fn every_command_and_option_is_described_and_every_leaf_has_examples() {
        for (path, command) in all() {
            assert!(command.get_about().is_some(), "{path} has no summary");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{path}: {} has no help", arg.get_id());
            }
            let leaf = command.get_subcommands().next().is_none();
            let name = path.trim_start_matches("windrow ");
            assert!(!leaf || !examples::of(name).is_empty(), "{path} has no examples");
        }
        for path in examples::paths() {
            assert!(all().iter().any(|(known, _)| known == &format!("windrow {path}")), "examples of unknown {path}");
        }
    }

    #[test]
    fn examples_can_be_run_as_they_are_written() {
        for line in examples::paths().flat_map(examples::of) {
            let line = line.split(" | ").last().unwrap_or_default().trim();
            let words = line.replace(['\'', '"'], "\u{1}");
            let mut inside = false;
            let mut arguments = vec![String::new()];
            for c in words.chars() {
                match c {
                    '\u{1}' => inside = !inside,
                    ' ' if !inside => arguments.push(String::new()),
                    c => arguments.last_mut().unwrap().push(c),
                }
            }
            let parsed = command().try_get_matches_from(&arguments);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    /// Words and phrases that the glossary replaces.
    const RETIRED: &[&str] = &[
        "anew",
        "afresh",
        "be rid of",
        "became of",
        "came of",
        "by itself",
        "commonest",
        "go on",
        "goes on",
        "item(s)",
        "lies in",
        "look at",
        "nobody",
        "of its own",
        "once more",
        "once again",
        "so many",
        "somebody",
        "steer",
        "surely",
        "take over",
        "taken over",
        "takes over",
        "turn away",
        "turned away",
        "whoever",
        "at work",
        "is no ",
        "there is no",
        "like https",
        "way back",
        "what has not",
        "beside",
        "seal",
        "data folder",
        "do:",
    ];

    #[test]
    fn retired_words_stay_out_of_help() {
        let mut texts = vec![("windrow".to_owned(), screen(&Cli::command())), ("options".to_owned(), options())];
        texts.extend(all().into_iter().map(|(path, mut command)| (path, command.render_long_help().to_string())));
        texts.push(("docs/cli.md".to_owned(), super::super::page::page()));
        texts.push(("exit codes".to_owned(), Exit::help()));
        let mut found = Vec::new();
        for (name, text) in &texts {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            for word in RETIRED {
                let at = text.find(word).filter(|at| !text[..*at].ends_with(char::is_alphanumeric));
                found.extend(at.map(|at| format!("{name}: …{}", text[at..].chars().take(60).collect::<String>())));
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
