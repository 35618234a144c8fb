//! The text of a call in flight (E30). Nothing of it is stored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a call in flight has said so far, where the target streams. It is replaced by the output once that is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StreamedText {
    /// The column; null for the only target.
    pub column: Option<String>,
    pub turn: u32,
    /// The newest part.
    pub text: String,
    /// Characters so far.
    pub length: usize,
}
