//! Gives every flag that is a setting its variable, and what the file says as its default.

use clap::{Arg, Command};

use crate::node::config::setting::Setting;
use crate::node::config::{ConfigFile, SECTIONS};

pub fn settled(command: Command, file: Option<&ConfigFile>) -> Command {
    let global = command.mut_args(|arg| if arg.is_global_set() { settle(None, arg, file) } else { arg });
    SECTIONS.iter().fold(global, |command, section| match command.find_subcommand(section) {
        Some(_) => command.mut_subcommand(section, |own| own.mut_args(|arg| settle(Some(section), arg, file))),
        None => command,
    })
}

fn settle(section: Option<&'static str>, arg: Arg, file: Option<&ConfigFile>) -> Arg {
    let Some(setting) = Setting::of(section, &arg) else { return arg };
    let arg = arg.env(setting.variable.clone());
    match file.and_then(|file| file.get(&setting)) {
        // The flag need no longer be given where the file says what it would.
        Some((values, _)) => arg.default_values(values.iter().cloned()).required(false),
        None => arg,
    }
}
