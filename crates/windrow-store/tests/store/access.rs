//! Conformance of the ports for API keys and the audit log.

use windrow_model::KeyId;
use windrow_model::access::{AccessStore, ApiKey, KeyDigest, KeyState, Role};
use windrow_model::audit::{AuditFilter, AuditLog, NewAudit, Verdict};
use windrow_model::store::StoreError;
use windrow_store::SqliteStore;

use crate::fixture::T0;

cases_of_databases![
    a_key_is_found_by_its_id_as_it_was_added,
    two_active_keys_never_share_a_name,
    a_revoked_key_stays_revoked_and_listed,
    an_unfinished_audit_entry_has_an_unknown_outcome,
    an_ended_entry_cannot_be_changed,
    entries_come_newest_first_in_pages_and_by_workspace,
    entries_are_found_by_text_outcome_and_time,
    only_old_entries_are_deleted,
];

fn key(n: i64, name: &str) -> ApiKey {
    ApiKey {
        id: KeyId(n),
        name: name.into(),
        role: Role::Operator,
        workspace: Some("w".into()),
        digest: KeyDigest([n as u8; 32]),
        created_by: "ann".into(),
        created_at: T0,
        expires_at: Some(T0 + 1000),
        revoked_at: None,
        used_at: None,
    }
}

fn entry(resource: &str, workspace: Option<&str>) -> NewAudit {
    NewAudit {
        actor: "ann".into(),
        via: "http".into(),
        workspace: workspace.map(str::to_owned),
        operation: "pause".into(),
        resource: resource.into(),
        address: Some("127.0.0.1:5".into()),
        request: Some("req_1".into()),
    }
}

async fn a_key_is_found_by_its_id_as_it_was_added(store: &dyn AccessStore) {
    assert!(!store.has_keys().await.unwrap());
    store.add_key(key(1, "ci")).await.unwrap();
    assert!(store.has_keys().await.unwrap());
    let found = store.key(KeyId(1)).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.role, found.workspace.as_deref()), ("ci", Role::Operator, Some("w")));
    assert_eq!((found.digest.0, found.used_at), ([1; 32], None));
    assert_eq!((found.state(T0 + 999), found.state(T0 + 1000)), (KeyState::Active, KeyState::Expired));
    store.note_key_use(KeyId(1), T0 + 60_000).await.unwrap();
    assert_eq!(store.key(KeyId(1)).await.unwrap().unwrap().used_at, Some(T0 + 60_000));
    assert!(store.key(KeyId(2)).await.unwrap().is_none());
}

async fn two_active_keys_never_share_a_name(store: &dyn AccessStore) {
    store.add_key(key(1, "ci")).await.unwrap();
    let taken = store.add_key(key(2, "ci")).await.unwrap_err();
    assert_eq!(taken, StoreError::NameTaken { what: "a key", name: "ci".into() });
    store.revoke_key(KeyId(1), T0).await.unwrap();
    store.add_key(key(2, "ci")).await.unwrap();
    let names: Vec<_> = store.keys().await.unwrap().into_iter().map(|key| (key.id.0, key.name)).collect();
    assert_eq!(names, [(1, "ci".to_owned()), (2, "ci".to_owned())]);
}

async fn a_revoked_key_stays_revoked_and_listed(store: &dyn AccessStore) {
    store.add_key(key(1, "ci")).await.unwrap();
    assert_eq!(store.revoke_key(KeyId(1), T0 + 5).await.unwrap().revoked_at, Some(T0 + 5));
    let again = store.revoke_key(KeyId(1), T0 + 9).await.unwrap();
    assert_eq!((again.revoked_at, again.state(T0)), (Some(T0 + 5), KeyState::Revoked));
    assert!(store.has_keys().await.unwrap(), "a folder that had keys is not open again");
    assert!(matches!(store.revoke_key(KeyId(7), T0).await, Err(StoreError::NotFound { what: "key", .. })));
}

async fn an_unfinished_audit_entry_has_an_unknown_outcome(store: &dyn AuditLog) {
    let first = store.begin_audit(entry("a", None), T0).await.unwrap();
    let second = store.begin_audit(entry("b", None), T0 + 1).await.unwrap();
    store.end_audit(second, Verdict::Done, "200").await.unwrap();
    let found = store.audit(AuditFilter { limit: 10, ..Default::default() }).await.unwrap();
    let seen: Vec<_> = found.iter().map(|entry| (entry.id, entry.verdict, entry.detail.as_str())).collect();
    assert_eq!(seen, [(second, Some(Verdict::Done), "200"), (first, None, "")]);
    assert_eq!((found[1].at, &found[1].what), (T0, &entry("a", None)));
}

async fn an_ended_entry_cannot_be_changed(store: &dyn AuditLog) {
    let id = store.begin_audit(entry("a", None), T0).await.unwrap();
    store.end_audit(id, Verdict::Refused, "409").await.unwrap();
    store.end_audit(id, Verdict::Done, "200").await.unwrap();
    let found = store.audit(AuditFilter { limit: 1, ..Default::default() }).await.unwrap();
    assert_eq!((found[0].verdict, found[0].detail.as_str()), (Some(Verdict::Refused), "409"));
}

async fn entries_come_newest_first_in_pages_and_by_workspace(store: &dyn AuditLog) {
    for (n, workspace) in [(1, None), (2, Some("w")), (3, Some("v")), (4, Some("w"))] {
        store.begin_audit(entry(&n.to_string(), workspace), T0 + n).await.unwrap();
    }
    let page = async |workspace: Option<&str>, before, limit| {
        let filter = AuditFilter { workspace: workspace.map(str::to_owned), before, limit, ..Default::default() };
        let found = store.audit(filter).await.unwrap();
        found.into_iter().map(|entry| entry.what.resource).collect::<Vec<_>>()
    };
    assert_eq!(page(None, None, 3).await, ["4", "3", "2"]);
    assert_eq!(page(None, Some(2), 3).await, ["1"]);
    assert_eq!(page(Some("w"), None, 3).await, ["4", "2"]);
    let nobody = AuditFilter { actor: Some("bob".into()), limit: 3, ..Default::default() };
    assert!(store.audit(nobody).await.unwrap().is_empty());
}

async fn entries_are_found_by_text_outcome_and_time(store: &dyn AuditLog) {
    for (n, resource) in [(1, "jobs/Nightly/schedule"), (2, "jobs/nightly/pause"), (3, "keys/ci")] {
        let id = store.begin_audit(entry(resource, None), T0 + n).await.unwrap();
        let verdict = if n == 3 { Verdict::Refused } else { Verdict::Done };
        store.end_audit(id, verdict, &format!("20{n}")).await.unwrap();
    }
    let times = async |filter: AuditFilter| {
        let found = store.audit(AuditFilter { limit: 9, ..filter }).await.unwrap();
        found.into_iter().map(|entry| entry.at.0 - T0.0).collect::<Vec<_>>()
    };
    let what = |text: &str| AuditFilter { what: Some(text.into()), ..Default::default() };
    assert_eq!(times(what("NIGHTLY")).await, [2, 1]);
    assert_eq!(times(what("/schedule")).await, [1]);
    assert_eq!(times(what("203")).await, [3], "the detail");
    assert_eq!(times(what("%")).await, [0; 0], "no pattern");
    let refused = AuditFilter { verdict: Some(Verdict::Refused), ..Default::default() };
    assert_eq!(times(refused).await, [3]);
    let between = AuditFilter { since: Some(T0 + 2), until: Some(T0 + 3), ..Default::default() };
    assert_eq!(times(between).await, [2]);
}

async fn only_old_entries_are_deleted(store: &dyn AuditLog) {
    for n in 0..5 {
        store.begin_audit(entry(&n.to_string(), None), T0 + n).await.unwrap();
    }
    assert_eq!(store.forget_audit(T0 + 3, 2).await.unwrap(), 2);
    assert_eq!(store.forget_audit(T0 + 3, 2).await.unwrap(), 1);
    assert_eq!(store.forget_audit(T0 + 3, 2).await.unwrap(), 0);
    assert_eq!(store.audit(AuditFilter { limit: 9, ..Default::default() }).await.unwrap().len(), 2);
}

#[tokio::test]
async fn audit_entries_cannot_be_changed_even_with_sql() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windrow.db");
    let store = SqliteStore::open(&path).unwrap();
    store.begin_audit(entry("a", None), T0).await.unwrap();
    let conn = rusqlite::Connection::open(&path).unwrap();
    let refused = conn.execute("UPDATE audit SET actor = 'eve'", []).unwrap_err();
    assert!(refused.to_string().contains("only ever added to"), "{refused}");
}
