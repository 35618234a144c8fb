//! Conformance of the port for secrets (T9).

use windrow_model::secret::{Resealed, SealedSecret, SecretStore};
use windrow_model::store::StoreError;

use crate::fixture::T0;

cases_of_databases![
    a_secret_set_again_is_replaced_and_keeps_its_creation_time,
    a_workspace_sees_its_own_secrets_only,
    a_deleted_secret_is_gone_and_cannot_be_deleted_twice,
    re_encryption_changes_all_or_nothing,
];

fn sealed(workspace: &str, name: &str, key_id: &str, nonce: u8, at: i64) -> SealedSecret {
    SealedSecret {
        workspace: workspace.into(),
        name: name.into(),
        key_id: key_id.into(),
        nonce: vec![nonce; 12],
        sealed: vec![nonce, 1, 2, 3],
        actor: "ann".into(),
        set_at: T0 + at,
    }
}

async fn a_secret_set_again_is_replaced_and_keeps_its_creation_time(store: &dyn SecretStore) {
    assert!(store.put_secret(sealed("w", "A", "k1", 1, 0)).await.unwrap());
    assert!(!store.put_secret(sealed("w", "A", "k2", 2, 5)).await.unwrap());
    assert_eq!(store.secret("w", "A").await.unwrap(), Some(sealed("w", "A", "k2", 2, 5)));
    let listed = store.secrets("w").await.unwrap();
    assert_eq!((listed.len(), listed[0].created_at, listed[0].set_at), (1, T0, T0 + 5));
    assert_eq!(store.secret_keys().await.unwrap(), [("k2".to_owned(), 1)]);
}

async fn a_workspace_sees_its_own_secrets_only(store: &dyn SecretStore) {
    for (workspace, name, nonce) in [("w", "B", 1), ("w", "A", 2), ("v", "A", 3)] {
        store.put_secret(sealed(workspace, name, "k", nonce, 0)).await.unwrap();
    }
    let names: Vec<String> = store.secrets("w").await.unwrap().into_iter().map(|secret| secret.name).collect();
    assert_eq!(names, ["A", "B"]);
    assert_eq!(store.secret("v", "A").await.unwrap().unwrap().nonce, [3; 12]);
    assert_eq!(store.secret("v", "B").await.unwrap(), None);
    assert_eq!(store.secret_keys().await.unwrap(), [("k".to_owned(), 3)]);
}

async fn a_deleted_secret_is_gone_and_cannot_be_deleted_twice(store: &dyn SecretStore) {
    store.put_secret(sealed("w", "A", "k", 1, 0)).await.unwrap();
    assert!(matches!(store.delete_secret("v", "A").await, Err(StoreError::NotFound { what: "secret", .. })));
    store.delete_secret("w", "A").await.unwrap();
    assert_eq!(store.secret("w", "A").await.unwrap(), None);
    assert!(matches!(store.delete_secret("w", "A").await, Err(StoreError::NotFound { .. })));
}

async fn re_encryption_changes_all_or_nothing(store: &dyn SecretStore) {
    store.put_secret(sealed("w", "A", "old", 1, 0)).await.unwrap();
    store.put_secret(sealed("w", "B", "old", 2, 0)).await.unwrap();
    let reseal = |name, old, new| Resealed { old_nonce: vec![old; 12], new: sealed("w", name, "new", new, 9) };
    // B was set in the meantime.
    assert!(!store.reseal_secrets(vec![reseal("A", 1, 7), reseal("B", 3, 8)]).await.unwrap());
    assert_eq!(store.secret_keys().await.unwrap(), [("old".to_owned(), 2)]);
    assert!(store.reseal_secrets(vec![reseal("A", 1, 7), reseal("B", 2, 8)]).await.unwrap());
    let all = store.sealed_secrets().await.unwrap();
    let found: Vec<_> = all.iter().map(|secret| (secret.key_id.as_str(), secret.nonce[0], secret.set_at)).collect();
    assert_eq!(found, [("new", 7, T0), ("new", 8, T0)], "set by whom and when stays as it was");
}
