//! Conformance of the port for alerts.

use windrow_model::alert::{Acknowledged, Alert, AlertStore, Severity};
use windrow_model::{AlertId, JobId, RunId};

use crate::fixture::T0;

fn alert(n: i64) -> Alert {
    Alert {
        id: AlertId(n),
        rule: "run_failure_rate".into(),
        severity: Severity::Warning,
        subject: RunId(n).to_string(),
        workspace: Some("w".into()),
        job: Some(JobId(n)),
        run: Some(RunId(n)),
        value: 0.5,
        threshold: 0.2,
        message: "half of it fails".into(),
        raised_at: T0,
        cleared_at: None,
        acknowledged: None,
    }
}

async fn ids(store: &dyn AlertStore) -> (Vec<i64>, Vec<i64>) {
    let active = store.active_alerts().await.unwrap().iter().map(|alert| alert.id.0).collect();
    let recent = store.recent_alerts(None, 100).await.unwrap().iter().map(|alert| alert.id.0).collect();
    (active, recent)
}

cases_of_databases![
    alerts_are_raised_and_cleared_once_and_deleted_when_old,
    the_first_who_acknowledges_an_alert_stays_noted,
];

async fn the_first_who_acknowledges_an_alert_stays_noted(store: &dyn AlertStore) {
    store.raise_alert(alert(1)).await.unwrap();
    let noted = Alert { acknowledged: Some(Acknowledged { at: T0 + 3, by: "ann".into() }), ..alert(1) };
    assert_eq!(store.acknowledge_alert(AlertId(1), "ann", T0 + 3).await.unwrap(), Some(noted.clone()));
    assert_eq!(store.acknowledge_alert(AlertId(1), "jo", T0 + 4).await.unwrap(), Some(noted.clone()));
    assert_eq!(store.active_alerts().await.unwrap(), [noted], "it is active until it is cleared");
    assert_eq!(store.acknowledge_alert(AlertId(2), "jo", T0 + 4).await.unwrap(), None);
}

async fn alerts_are_raised_and_cleared_once_and_deleted_when_old(store: &dyn AlertStore) {
    for n in [1, 2, 3, 4] {
        assert!(store.raise_alert(alert(n)).await.unwrap());
    }
    let other_node = Alert { id: AlertId(9), message: "again".into(), ..alert(1) };
    assert!(!store.raise_alert(other_node).await.unwrap(), "another node has raised it");
    assert!(store.raise_alert(alert(1)).await.unwrap(), "it may be repeated");
    assert_eq!(store.active_alerts().await.unwrap()[0], alert(1), "it is known already");
    let clear = async |n, now| store.clear_alert(&alert(n).rule, &alert(n).subject, now).await.unwrap();
    for n in [1, 2, 3] {
        assert!(clear(n, T0 + 5).await);
    }
    assert!(clear(1, T0 + 5).await, "it may be repeated");
    assert!(!clear(1, T0 + 9).await, "another node has cleared it");
    assert!(!store.clear_alert("disk_space", &alert(4).subject, T0 + 9).await.unwrap());
    assert_eq!(ids(store).await, (vec![4], vec![4, 3, 2, 1]));
    let page = store.recent_alerts(Some(AlertId(3)), 1).await.unwrap();
    assert_eq!(page, [Alert { cleared_at: Some(T0 + 5), ..alert(2) }]);
    assert_eq!(store.forget_alerts(1).await.unwrap(), 2);
    assert_eq!(ids(store).await, (vec![4], vec![4, 3]), "what is active is kept, and the newest that is not");
}
