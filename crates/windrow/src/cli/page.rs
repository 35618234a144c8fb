//! `docs/cli.md`, written from the command line's own description.

use clap::{Arg, Command};

use crate::cli::{examples, help};

const HEAD: &str = "# Command line

Every command, generated from the program (`make docs`). Global options are in [settings](settings.md); exit codes
are listed by `windrow help exit-codes`.
";

pub fn page() -> String {
    let mut root = help::command().bin_name("windrow");
    root.build();
    let mut page = HEAD.to_owned();
    commands(&root, "windrow", 2, &mut page);
    page
}

fn commands(parent: &Command, path: &str, level: usize, page: &mut String) {
    for command in parent.get_subcommands().filter(|command| !command.is_hide_set()) {
        let path = format!("{path} {}", command.get_name());
        *page += &format!("\n{} `{path}`\n\n{}\n", "#".repeat(level), about(command));
        if command.get_subcommands().next().is_none() || !command.is_subcommand_required_set() {
            options(command, &path, page);
        }
        commands(command, &path, level + 1, page);
    }
}

fn options(command: &Command, path: &str, page: &mut String) {
    let usage = command.clone().render_usage().to_string();
    *page += &format!("\n```\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let shown: Vec<&Arg> = command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help").collect();
    if !shown.is_empty() {
        *page += "\n| | |\n|---|---|\n";
    }
    shown.iter().for_each(|arg| *page += &format!("| {} | {} |\n", name(arg), text(arg)));
    let examples: String =
        examples::of(path.trim_start_matches("windrow ")).iter().map(|line| format!("{line}\n")).collect();
    if !examples.is_empty() {
        *page += &format!("\n```sh\n{examples}```\n");
    }
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// `-o`, `--output <FILE>`
fn name(arg: &Arg) -> String {
    let values: String = arg
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(|value| format!("<{value}>"))
        .collect::<Vec<_>>()
        .join(" ");
    let takes = arg.get_action().takes_values();
    if arg.is_positional() {
        return format!("`{values}`");
    }
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    let long = arg.get_long().unwrap_or_default();
    if takes { format!("{short}`--{long} {values}`") } else { format!("{short}`--{long}`") }
}

fn text(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .filter(|v| !v.is_empty())
        .collect();
    let default = match arg.get_action().takes_values() && !defaults.is_empty() {
        true => format!(" [default: `{}`]", defaults.join(",")),
        false => String::new(),
    };
    let possible: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let possible = match arg.get_action().takes_values() && !possible.is_empty() {
        true => format!(" [{}]", possible.join(", ")),
        false => String::new(),
    };
    format!("{help}{default}{possible}").replace(['\n'], " ").replace('|', "\\|")
}

#[test]
fn the_page_of_commands_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == page(), "docs/cli.md is not what the program says; run `make docs`");
}
