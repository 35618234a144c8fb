//! Labels and agreement.

use windrow_wire::{AgreementView, LabelList, LabelRequest, Labelled};

use crate::app::labels;
use crate::client::api::Api;
use crate::client::remote::NOTHING;
use crate::error::Result;

impl Api {
    pub async fn label(&self, job: &str, request: LabelRequest) -> Result<Labelled> {
        match self {
            Api::Local(app, actor) => {
                let label = |change| async move { labels::label(app, &change, job, request).await };
                app.act(actor, "label", job, label).await
            }
            Api::Remote(remote) => remote.post(&["jobs", job, "labels"], &request).await,
        }
    }

    pub async fn labels_of_item(&self, item: i64) -> Result<LabelList> {
        match self {
            Api::Local(app, actor) => labels::of_item(app, actor, windrow_model::ItemId(item)).await,
            Api::Remote(remote) => remote.get(&["items", &item.to_string(), "labels"], NOTHING).await,
        }
    }

    pub async fn agreement(&self, job: &str) -> Result<AgreementView> {
        match self {
            Api::Local(app, actor) => labels::agreement(app, actor, job).await,
            Api::Remote(remote) => remote.get(&["jobs", job, "agreement"], NOTHING).await,
        }
    }
}
