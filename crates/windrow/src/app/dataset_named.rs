//! From `NAME` or `NAME@VERSION`, as a person types it, to the version that is meant.

use std::str::FromStr;

use windrow_model::dataset::{Dataset, DatasetVersion};
use windrow_model::suggest;
use windrow_wire::DatasetDeleted;

use crate::app::error::{Code, Error, Result};
use crate::app::wiring::App;

const MAX_NAME: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    /// The newest if not given.
    pub version: Option<i64>,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some((name, version)) = text.rsplit_once('@') else {
            return Ok(Self { name: text.to_owned(), version: None });
        };
        let digits = version.strip_prefix('v').unwrap_or(version);
        let version = digits.parse().map_err(|_| format!("{version:?} is not a version; write NAME@3"))?;
        Ok(Self { name: name.to_owned(), version: Some(version) })
    }
}

/// A name that a dataset may have.
pub fn check_name(name: &str) -> std::result::Result<String, String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '@' || c == '/';
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(odd) {
        return Err(format!("a name has 1 to {MAX_NAME} characters, without spaces, `@` and `/`"));
    }
    Ok(name.to_owned())
}

/// The dataset and all its versions, newest first.
pub async fn dataset(app: &App, workspace: &str, name: &str) -> Result<(Dataset, Vec<DatasetVersion>)> {
    if let Some(dataset) = app.datasets.find_dataset(workspace, name).await? {
        let versions = app.datasets.dataset_versions(dataset.id).await?;
        return Ok((dataset, versions));
    }
    let listed = app.datasets.datasets(workspace).await?;
    match suggest::nearest(name, listed.iter().map(|listing| listing.dataset.name.as_str())) {
        Some(meant) => Err(missing(name, format!("did you mean {meant}?"))),
        None => Err(unknown(app, name)),
    }
}

/// There is none of this name, nor of a similar one.
pub fn unknown(app: &App, name: &str) -> Error {
    missing(name, format!("list what there is with `{}`", app.command("datasets list")))
}

fn missing(name: &str, remedy: String) -> Error {
    Error::new(format!("there is no dataset {name:?}"), remedy).coded(Code::NotFound)
}

/// Takes the version named, or all of them, out of sight; what is left of them is to be swept away.
pub async fn drop(app: &App, workspace: &str, named: &Named) -> Result<DatasetDeleted> {
    let (dataset, mut versions) = self::dataset(app, workspace, &named.name).await?;
    if named.version.is_some() {
        versions = vec![choose(named, &versions)?];
    }
    for version in &versions {
        app.datasets.drop_version(version.id).await?;
    }
    Ok(DatasetDeleted { name: dataset.name, versions: versions.iter().map(|version| version.version).collect() })
}

pub fn choose(named: &Named, versions: &[DatasetVersion]) -> Result<DatasetVersion> {
    let wanted = named.version.or(versions.first().map(|newest| newest.version));
    versions.iter().find(|version| Some(version.version) == wanted).cloned().ok_or_else(|| {
        let known: Vec<String> = versions.iter().take(20).map(|version| version.version.to_string()).collect();
        let what = format!("{} has no version {}", named.name, wanted.unwrap_or_default());
        Error::new(what, format!("there are: {}", known.join(", "))).coded(Code::NotFound)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_follows_the_name() {
        let named = |name: &str, version| Named { name: name.to_owned(), version };
        assert_eq!("capitals".parse(), Ok(named("capitals", None)));
        assert_eq!("capitals@3".parse(), Ok(named("capitals", Some(3))));
        assert_eq!("capitals@v3".parse(), Ok(named("capitals", Some(3))));
        assert!("capitals@newest".parse::<Named>().is_err());
        assert!(check_name("a@b").is_err() && check_name("").is_err() && check_name("größe-2.x").is_ok());
    }
}
