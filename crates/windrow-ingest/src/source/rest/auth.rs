//! Who asks. A token of OAuth2 is fetched when it is first needed, shared by all slices, and fetched again
//! a little before it ends or when it is refused.

use std::time::{Duration, Instant};

use base64::Engine;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use serde::Deserialize;
use tokio::sync::Mutex;
use windrow_jobfile::http_client::{self, failure};
use windrow_jobfile::resolved_refs::ResolvedRefs;
use windrow_jobfile::spec::invalid_request;
use windrow_model::{ErrorClass, Failure};

use super::config::{Auth, OAuth2};

/// A token is given up this long before it ends.
const MARGIN: Duration = Duration::from_secs(30);
const LIFETIME: Duration = Duration::from_secs(3600);

pub enum Credential {
    None,
    Header(HeaderName, HeaderValue),
    Param(String, String),
    OAuth2 { config: OAuth2, token: Mutex<Option<Token>> },
}

pub struct Token {
    value: HeaderValue,
    until: Instant,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: Option<u64>,
}

impl Credential {
    pub fn of(auth: &Auth, refs: &ResolvedRefs) -> Result<Self, Failure> {
        if let Some(token) = &auth.bearer {
            return Ok(Self::Header(AUTHORIZATION, secret_value(&format!("Bearer {}", refs.fill(token)))?));
        }
        if let Some(basic) = &auth.basic {
            let pair = format!("{}:{}", refs.fill(&basic.user), refs.fill(&basic.password));
            let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
            return Ok(Self::Header(AUTHORIZATION, secret_value(&format!("Basic {encoded}"))?));
        }
        if let Some(key) = &auth.api_key {
            let value = refs.fill(&key.value);
            return match (&key.header, &key.param) {
                (Some(header), _) => {
                    let name =
                        header.parse().map_err(|_| invalid_request(format!("{header:?} cannot be a header's name")))?;
                    Ok(Self::Header(name, secret_value(&value)?))
                }
                (None, Some(param)) => Ok(Self::Param(param.clone(), value)),
                (None, None) => Err(invalid_request("`auth.api_key` names neither a header nor a parameter")),
            };
        }
        Ok(match &auth.oauth2 {
            None => Self::None,
            Some(config) => Self::OAuth2 {
                config: OAuth2 {
                    token_url: refs.fill(&config.token_url),
                    client_id: refs.fill(&config.client_id),
                    client_secret: refs.fill(&config.client_secret),
                    scope: config.scope.clone(),
                },
                token: Mutex::default(),
            },
        })
    }

    /// Puts it where the service looks for it.
    pub async fn sign(&self, url: &mut Url, headers: &mut HeaderMap, client: &Client) -> Result<(), Failure> {
        match self {
            Self::None => {}
            Self::Header(name, value) => {
                headers.insert(name, value.clone());
            }
            Self::Param(name, value) => {
                url.query_pairs_mut().append_pair(name, value);
            }
            Self::OAuth2 { config, token } => {
                let mut token = token.lock().await;
                let value = match token.as_ref().filter(|token| token.until > Instant::now()) {
                    Some(token) => token.value.clone(),
                    None => token.insert(grant(config, client).await?).value.clone(),
                };
                headers.insert(AUTHORIZATION, value);
            }
        }
        Ok(())
    }

    /// The service refused it: the next request asks for another. Whether there can be another.
    pub async fn renew(&self) -> bool {
        match self {
            Self::OAuth2 { token, .. } => token.lock().await.take().is_some(),
            _ => false,
        }
    }
}

async fn grant(config: &OAuth2, client: &Client) -> Result<Token, Failure> {
    let url = http_client::web_url(&config.token_url).map_err(invalid_request)?;
    let form = grant_form(config.scope.as_deref());
    let request = client.post(url.clone()).basic_auth(&config.client_id, Some(&config.client_secret));
    let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
    let reply = request.send().await;
    let reply = reply.map_err(|error| failure::of_transport(error, &url))?;
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let body = http_client::read_body(reply).await.map_err(|error| failure::of_transport(error, &url))?;
    if !(200..300).contains(&status) {
        return Err(failure::naming(&url, failure::of_status(status, &headers, &body)));
    }
    let granted: Granted = serde_json::from_str(&body).map_err(|error| {
        Failure::new(ErrorClass::InvalidOutput, format!("the token endpoint answered oddly: {error}"))
    })?;
    let lifetime = granted.expires_in.map_or(LIFETIME, Duration::from_secs);
    let value = secret_value(&format!("Bearer {}", granted.access_token))?;
    Ok(Token { value, until: Instant::now() + lifetime.saturating_sub(MARGIN) })
}

fn grant_form(scope: Option<&str>) -> String {
    let scope = scope.map(|scope| ("scope", scope));
    let fields = std::iter::once(("grant_type", "client_credentials")).chain(scope);
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

fn secret_value(text: &str) -> Result<HeaderValue, Failure> {
    let mut value =
        HeaderValue::from_str(text).map_err(|_| invalid_request("the credential has characters no header carries"))?;
    value.set_sensitive(true);
    Ok(value)
}
