//! The OpenAPI document, generated from the handlers. Committed as `docs/openapi.json`, so that a change
//! of the contract is seen in review.

use axum::Json;
use axum::http::Method;
use utoipa::PartialSchema;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{HttpMethod, Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Info, License, OpenApi, Ref, RefOr, Required, ResponseBuilder};
use windrow_wire::request::BatchRequest;
use windrow_wire::{Place, PlacedProblem, Problem};

use crate::http::middleware::rights;

const KEY: &str = "key";
const TITLE: &str = "Windrow";
const DESCRIPTION: &str = "Runs large batches of work that must not be lost and must not be done twice. \
    Every error is `application/problem+json` with a stable `code`.";

/// Changes that support `If-Match`.
const GUARDED: &[&str] = &[
    "pause_job",
    "resume_job",
    "cancel_job",
    "terminate_job",
    "drain_job",
    "approve_wave",
    "change_limits",
    "delete_job",
    "schedule_job",
    "unschedule_job",
    "pin_job",
    "unpin_job",
    "delete_dataset",
];

/// Routes that are handled by an operation of `/api/v1`: path, that operation's path, and the operation's own id.
const SAME: &[(&str, &str, &str)] = &[
    ("/api/batch", "/api/v1/jobs", "submit_batch"),
    ("/api/eval-tasks/stats", "/api/v1/stats", "get_task_stats_of_all"),
    ("/api/eval-tasks/health", "/api/v1/health", "get_task_health"),
    ("/api/eval-tasks/{task}/logs", "/api/v1/jobs/{job}/logs", "list_task_logs"),
    ("/api/eval-tasks/{task}/stats", "/api/v1/jobs/{job}/stats", "get_task_stats"),
];

/// Describes each by the operation that handles it.
fn add_same(document: &mut OpenApi) {
    for (path, of, id) in SAME {
        let PathItem { get, post, .. } = document.paths.paths.get(*of).cloned().unwrap_or_default();
        let is_batch = *path == "/api/batch";
        let mut operation = if is_batch { post } else { get }.unwrap_or_default();
        operation.operation_id = Some((*id).to_owned());
        if is_batch {
            add_batch(&mut operation);
        }
        operation.tags = Some(vec![if is_batch { "batch" } else { "eval-tasks" }.to_owned()]);
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(parameter) = parameter
                && parameter.name == "job"
                && parameter.parameter_in == ParameterIn::Path
            {
                parameter.name = "task".to_owned();
            }
        }
        let method = if is_batch { HttpMethod::Post } else { HttpMethod::Get };
        document.paths.paths.insert((*path).to_owned(), PathItem::new(method, operation));
    }
}

/// B14: a batch over connectors, or the job file that `POST /jobs` takes.
fn add_batch(operation: &mut Operation) {
    let either = ["BatchRequest", "Submit"].map(Ref::from_schema_name);
    let either = either.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
    if let Some(RefOr::T(body)) = operation.request_body.as_mut()
        && let Some(RefOr::T(content)) = body.content.get_mut("application/json")
    {
        content.schema = Some(Schema::OneOf(either.build()).into());
    }
}

/// Adds what all operations share: headers and the error response.
pub fn complete(mut document: OpenApi) -> OpenApi {
    let mut info = Info::new(TITLE, env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.to_owned());
    info.license = Some(License::new("Apache-2.0"));
    document.info = info;
    let components = document.components.get_or_insert_default();
    components.schemas.insert("BatchRequest".into(), BatchRequest::schema());
    components.schemas.insert("Problem".into(), Problem::schema());
    components.schemas.insert("PlacedProblem".into(), PlacedProblem::schema());
    components.schemas.insert("Place".into(), Place::schema());
    let bearer = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    components.add_security_scheme(KEY, bearer);
    // A server without any key needs none.
    document.security = Some(vec![SecurityRequirement::new(KEY, [""; 0]), SecurityRequirement::default()]);
    add_same(&mut document);
    for (path, item) in &mut document.paths.paths {
        if let Some(read) = item.get.as_mut().filter(|read| answers_json(read)) {
            add_header(read, "If-None-Match", "ETag of an earlier response: 304 if it has not changed");
            let unchanged = ResponseBuilder::new().description("Not changed").build();
            read.responses.responses.insert("304".into(), unchanged.into());
        }
        operations(item).for_each(|(method, operation)| {
            let id = operation.operation_id.as_deref().unwrap_or_default();
            if GUARDED.contains(&id) {
                add_header(operation, "If-Match", "ETag of the resource: 412 if it has changed");
            }
            add_refusal(operation);
            let role = rights::least_role(&method, path);
            operation.extensions = Some(Extensions::builder().add("x-windrow-role", role.as_str()).build());
        });
    }
    document
}

fn answers_json(operation: &Operation) -> bool {
    let ok = operation.responses.responses.get("200");
    matches!(ok, Some(RefOr::T(ok)) if ok.content.contains_key("application/json"))
}

fn add_header(operation: &mut Operation, name: &str, description: &str) {
    let header = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build();
    operation.parameters.get_or_insert_default().push(header.into());
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let PathItem { get, post, put, patch, delete, .. } = item;
    let all = [(Method::GET, get), (Method::POST, post), (Method::PUT, put), (Method::PATCH, patch)];
    all.into_iter()
        .chain([(Method::DELETE, delete)])
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

fn add_refusal(operation: &mut Operation) {
    let schema = RefOr::Ref(Ref::from_schema_name("Problem"));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let refusal = ResponseBuilder::new().description("The error").content("application/problem+json", content).build();
    operation.responses.responses.insert("default".into(), refusal.into());
}

pub async fn serve(document: OpenApi) -> Json<OpenApi> {
    Json(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> String {
        let (_, document) = crate::http::described().split_for_parts();
        serde_json::to_string_pretty(&complete(document)).unwrap() + "\n"
    }

    #[test]
    fn the_committed_document_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
            std::fs::write(path, document()).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == document(), "docs/openapi.json is not what the handlers say; run `make docs`");
    }

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let paths = document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
        let mut names: Vec<&str> = paths.map(|operation| operation["operationId"].as_str().unwrap()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(all > 30, "{all}");
    }

    /// The role of each is in the document; here only that none is too little.
    #[test]
    fn every_operation_takes_a_role_that_suits_it() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        let of_admins = ["access", "secrets", "webhooks"];
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let role = operation["x-windrow-role"].as_str().unwrap();
                let tag = operation["tags"][0].as_str().unwrap();
                match (tag, method.as_str()) {
                    // A view is a question that is too long for a URL.
                    _ if path == "/api/v1/session" || path.ends_with("/views") => {
                        assert_eq!(role, "viewer", "{method} {path}")
                    }
                    (tag, _) if of_admins.contains(&tag) => assert_eq!(role, "admin", "{method} {path}"),
                    (_, "get") => assert_ne!(role, "operator", "{method} {path}"),
                    _ => assert_ne!(role, "viewer", "{method} {path}"),
                }
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document: serde_json::Value = serde_json::from_str(&document()).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        let mut references = 0;
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            if let Some(reference) = value["$ref"].as_str() {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
                references += 1;
            }
            open.extend(value.as_object().into_iter().flat_map(|object| object.values()));
            open.extend(value.as_array().into_iter().flatten());
        }
        assert!(references > 50, "{references}");
    }
}
