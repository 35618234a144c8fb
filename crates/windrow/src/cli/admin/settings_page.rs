//! `docs/settings.md`, written from the settings themselves, and tests of the config file against the real flags.

use clap::{Command, CommandFactory};

use crate::cli::Cli;
use crate::node::config::file::entries;
use crate::node::config::{ConfigFile, SECTIONS, settings, settled};

const HEAD: &str = "# Settings

Every setting, generated from the flags (`make docs`). A flag comes before a variable, a variable before the config
file, the file before the default ([operations](operations.md#settings)).
";

fn page() -> String {
    let command = settled(Cli::command(), None);
    let global = format!("{HEAD}\n## At the top of the file: for every command\n\n{}", table(&command, None));
    let sections = SECTIONS
        .iter()
        .map(|section| format!("\n## `[{section}]`: for `windrow {section}`\n\n{}", table(&command, Some(section))));
    global + &sections.collect::<String>()
}

fn table(command: &Command, section: Option<&str>) -> String {
    let rows = settings(command).into_iter().filter(|setting| setting.section == section).map(|setting| {
        let defaults = setting.arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
        let default = defaults.collect::<Vec<_>>().join(", ");
        let about = setting.arg.get_help().map(ToString::to_string).unwrap_or_default().replace(['\n', '|'], " ");
        let flag = setting.key.replace('_', "-");
        format!("| `{}` | `--{flag}` | `{}` | {default} | {about} |\n", setting.key, setting.variable)
    });
    format!("| key | flag | variable | default | |\n|---|---|---|---|---|\n{}", rows.collect::<String>())
}

#[test]
fn the_page_of_settings_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == page(), "docs/settings.md is not what the flags say; run `make docs`");
}

#[test]
fn the_config_file_we_ship_is_in_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/windrow.toml");
    let file = ConfigFile::find(&["windrow".into(), "--config".into(), path.into()], &Cli::command());
    let file = file.unwrap_or_else(|error| panic!("{}", error.render())).unwrap();
    let said = settings(&Cli::command()).iter().filter(|setting| file.get(setting).is_some()).count();
    assert!(said >= 6, "{said}");
}

fn read(text: &str) -> std::result::Result<Vec<(String, Vec<String>, usize)>, String> {
    let found = entries("windrow.toml", text, &Cli::command());
    let found = found.map_err(|report| report.render())?;
    Ok(found.into_iter().map(|entry| (entry.path, entry.values, entry.line)).collect())
}

#[test]
fn settings_are_found_with_their_lines() {
    let found = read("data = \"/srv\"\n\n[serve]\njobs = 7\ngrace = \"5s\"\n").unwrap();
    let expected = [("data", "/srv", 1), ("serve.grace", "5s", 5), ("serve.jobs", "7", 4)];
    let mut found: Vec<_> =
        found.iter().map(|(path, values, line)| (path.as_str(), values[0].as_str(), *line)).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_was_meant() {
    for (text, line, meant) in [
        ("dat = \"x\"", "windrow.toml:1", "did you mean `data`"),
        ("\n[serve]\ngrase = \"5s\"", "windrow.toml:3", "did you mean `grace`"),
        ("jobs = 3", "windrow.toml:1", "to the table [serve]"),
        ("[serve]\ndata = \"x\"", "windrow.toml:2", "to the top"),
        ("[serv]\njobs = 1", "windrow.toml:1", "did you mean `serve`"),
        ("[serve]\ngrace = \"soon\"", "windrow.toml:2", "`serve.grace`"),
        ("[serve]\njobs = 0", "windrow.toml:2", "must be at least 1"),
        ("[serve]\njobs = [1]", "windrow.toml:2", "cannot be a"),
        ("data = ", "windrow.toml:1", "invalid TOML"),
    ] {
        let report = read(text).unwrap_err();
        assert!(report.contains(line) && report.contains(meant), "{text}: {report}");
    }
}
