//! The programs of the runs whose items come in, each prepared once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use windrow_model::workload::{Program, Workload};
use windrow_model::{Failure, Json};
use windrow_wire::grpc::v1;

use super::link::{Link, within};

const PATIENCE: Duration = Duration::from_secs(20);
/// Programs kept; others are prepared again.
const KEPT: usize = 100;

pub struct Programs {
    workloads: Vec<Arc<dyn Workload>>,
    prepared: HashMap<String, Arc<dyn Program>>,
}

/// Why an item cannot be executed here.
pub enum Unfit {
    /// The definition could not be fetched.
    Server(Status),
    /// This machine cannot carry it out.
    Machine(Failure),
}

impl Programs {
    pub fn new(workloads: Vec<Arc<dyn Workload>>) -> Self {
        Self { workloads, prepared: HashMap::new() }
    }

    pub async fn of(
        &mut self,
        link: &Link,
        workspace: &str,
        kind: &str,
        definition: &str,
    ) -> Result<Arc<dyn Program>, Unfit> {
        if let Some(program) = self.prepared.get(definition) {
            return Ok(program.clone());
        }
        let asked = within(PATIENCE, v1::GetDefinitionRequest { definition: definition.to_owned() });
        let answer = link.client().get_definition(asked).await.map_err(Unfit::Server)?;
        let spec = Json::from_text(answer.into_inner().definition_json);
        let workload = self.workloads.iter().find(|workload| workload.kind() == kind);
        let Some(workload) = workload else {
            let why = format!("unknown kind {kind:?}");
            return Err(Unfit::Machine(Failure::new(windrow_model::ErrorClass::InvalidRequest, why)));
        };
        let program = workload.prepare(workspace, &spec).await.map_err(Unfit::Machine)?;
        if self.prepared.len() >= KEPT {
            self.prepared.clear();
        }
        self.prepared.insert(definition.to_owned(), program.clone());
        Ok(program)
    }
}
