//! The public types: the JSON of every command and of the HTTP API. They are built from the model's records and never
//! stored. Fields may be added, but not renamed.
//!
//! Ids are strings, and times are RFC 3339 in UTC. A status is a public status of the job's kind, next to the kernel
//! state.

pub mod access;
pub mod alert;
pub mod analytics;
pub mod answer;
mod backup;
pub mod bad_row;
mod cell;
mod checkpoint;
mod comparison;
pub mod dataset;
mod flat;
pub mod forecast;
pub mod grpc;
pub mod health;
pub mod item;
mod job;
mod label;
mod limits;
mod lineage;
pub mod log;
mod node;
mod operation;
pub mod problem;
mod rejected;
pub mod request;
pub mod result;
mod rollout;
pub mod run;
pub mod secret;
pub mod status;
mod streamed;
mod task;
pub mod time;
mod view;
pub mod webhook;

pub use access::{AuditLine, AuditList, CallerView, CreatedKey, KeyList, KeyView};
pub use alert::{AlertList, AlertView};
pub use analytics::{
    AnalyticsCheck, AnalyticsRebuild, AnalyticsStatus, CheckedJob, CheckedTable, DayUsage, RankedRow, RebuildRequest,
    RowRanking, UsageView,
};
pub use answer::{
    Confirming, DatasetList, Event, Fed, Health, InOrder, ItemList, JobList, LogList, RunList, Submitted, Worker,
    WorkerList,
};
pub use backup::{BackupList, BackupView, VerifiedBackup};
pub use bad_row::BadRow;
pub use cell::{CellList, CellPlace, CellView};
pub use checkpoint::{CheckpointList, CheckpointView};
pub use comparison::{
    ChangedOutput, ComparedSide, ComparisonView, FieldChange, SideChange, SideMetric, Trend, TrendPoint, TrendRun,
    TrendView,
};
pub use dataset::{
    AddRowsRequest, ChangedRow, DatasetDeleted, DatasetDetail, DatasetDiff, DatasetImported, DatasetSummary, DiffRows,
    RowsAdded, VersionView,
};
pub use forecast::DryRunView;
pub use health::{HealthCheck, HealthExample};
pub use item::{AttemptView, ItemDetailView, ItemRow, ListedItem, ScoreCell, StepView, next_retry_at};
pub use job::{Deleted, JobDetail, JobRow, ScheduleList, ScheduleView, ScheduledJob};
pub use label::{AgreementView, EvaluatorAgreement, LabelList, LabelRequest, LabelView, Labelled};
pub use limits::{LimitList, LimitedRun, ServerLimits, WorkspaceLimits};
pub use lineage::{
    BackfillAnswer, BackfillPreview, BackfillSlice, BatchNode, IngestProgress, LeaseView, Lineage, PlanNode,
    ScheduleNode, SliceNode, SourceProgress, TaskNode, TaskRunNode,
};
pub use log::LogLine;
pub use node::{NodeList, NodeState, NodeView};
pub use operation::{Plan, PlannedKind, PlannedTarget, TargetList, TargetView};
pub use problem::{Place, PlacedProblem, Problem};
pub use rejected::{RejectedList, RejectedView, ReplayResult};
pub use result::{BaselineHead, Compared, Findings, GateList, RunResult, Whole};
pub use rollout::RolloutDetail;
pub use run::{Budget, ItemCounts, RunDetail};
pub use secret::{SecretList, SecretSet, SecretView};
pub use streamed::StreamedText;
pub use task::{EvalTask, EvalTaskItem, EvalTaskItemList, EvalTaskList};
pub use time::Timestamp;
pub use view::{
    BaselineName, BaselineRow, ColumnView, FieldList, FieldView, ItemHistory, ItemInRun, RebuiltTable, ResultView,
    RowDifference, TableLabel, TablePage, TableRow, TableScore, TextPage, TrialOutcome, VariantView, ViewRequest,
};
pub use webhook::{DeliveryList, DeliveryView, NewWebhook, RotateSecret, TryView, Webhook, WebhookList, WebhookSecret};

/// The header of every response with the version of the server.
pub const VERSION_HEADER: &str = "x-windrow-version";
