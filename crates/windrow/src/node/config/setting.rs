//! What can be set, read off the command line's own description.

use clap::{Arg, ArgAction, Command};

use crate::node::config::SECTIONS;

/// Global flags that say how to read the others, or what to do, and not how things should be.
const NOT_SETTINGS: &[&str] = &["config", "help", "version", "json"];

#[derive(Debug, Clone)]
pub struct Setting {
    /// `None` for those of every command.
    pub section: Option<&'static str>,
    /// As it is written in the file.
    pub key: String,
    pub variable: String,
    pub arg: Arg,
}

/// All of them, those of every command first.
pub fn settings(command: &Command) -> Vec<Setting> {
    let global = command.get_arguments().filter(|arg| arg.is_global_set());
    let mut found: Vec<Setting> = global.filter_map(|arg| Setting::of(None, arg)).collect();
    for section in SECTIONS {
        let own = command.find_subcommand(section).into_iter().flat_map(Command::get_arguments);
        found.extend(own.filter(|arg| !arg.is_global_set()).filter_map(|arg| Setting::of(Some(section), arg)));
    }
    found
}

impl Setting {
    pub fn of(section: Option<&'static str>, arg: &Arg) -> Option<Self> {
        let long = arg.get_long().filter(|long| !NOT_SETTINGS.contains(long))?;
        let key = long.replace('-', "_");
        let own = format!("WINDROW_{}", key.to_uppercase());
        let variable = arg.get_env().and_then(|name| name.to_str()).map_or(own, str::to_owned);
        Some(Self { section, key, variable, arg: arg.clone() })
    }

    /// `serve.listen`
    pub fn path(&self) -> String {
        self.section.map_or_else(|| self.key.clone(), |section| format!("{section}.{}", self.key))
    }

    pub fn is_switch(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse)
    }

    pub fn takes_many(&self) -> bool {
        matches!(self.arg.get_action(), ArgAction::Append)
    }

    /// Whether its value is one that must not be shown.
    pub fn is_secret(&self) -> bool {
        self.arg.is_hide_env_values_set()
    }

    /// Why a value does not fit, in the words of the flag.
    pub fn refuses(&self, value: &str) -> Option<String> {
        if self.is_switch() {
            return (!matches!(value, "true" | "false")).then(|| "use true or false".to_owned());
        }
        let alone = Arg::new("value").long("value").value_parser(self.arg.get_value_parser().clone());
        let reader = Command::new("setting").no_binary_name(true).arg(alone);
        let error = reader.try_get_matches_from([format!("--value={value}")]).err()?;
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let reason = first.split_once("<value>': ").or_else(|| first.split_once("<value>' "));
        Some(reason.map_or(first.as_str(), |(_, reason)| reason.trim()).to_owned())
    }
}
