//! Which keys of a configuration are passwords, as the connector's class declares them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windrow_jobfile::http_client::Request;
use windrow_model::Failure;

use super::config::Config;
use crate::web::{Miss, Web, unreachable};

#[derive(Default)]
pub struct Passwords {
    /// By class; asked for once each.
    keys: Mutex<BTreeMap<String, Vec<String>>>,
}

impl Passwords {
    pub async fn learn(&self, class: &str, config: &Config, web: &Web) -> Result<(), Failure> {
        if class.is_empty() || self.keys().contains_key(class) {
            return Ok(());
        }
        let url = format!("{}/connector-plugins/{class}/config", config.url.trim_end_matches('/'));
        let request = Request { headers: config.headers.clone(), ..Request::new("GET", url, None) };
        let declared = match web.send(&request, None).await {
            Ok(declared) => declared,
            // Names have to do where a class declares nothing, or this version of Connect cannot say it.
            Err(Miss::Refused { .. }) => Value::Null,
            Err(miss) => {
                let failure = miss.failure();
                match unreachable(&failure) {
                    Some(_) => return Err(failure),
                    None => Value::Null,
                }
            }
        };
        let passwords = declared.as_array().into_iter().flatten().filter(|key| key["type"] == "PASSWORD");
        let names = passwords.filter_map(|key| key["name"].as_str()).map(str::to_owned).collect();
        self.keys().insert(class.to_owned(), names);
        Ok(())
    }

    pub fn has(&self, name: &str) -> bool {
        self.keys().values().any(|keys| keys.iter().any(|key| key == name))
    }

    fn keys(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
