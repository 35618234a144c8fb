//! The first calls of a run show whether its setup works. When all of them fail for a reason that lies in the job file
//! or its environment, the run pauses, and no item is marked as failed.

use crate::failure::Failure;

/// Number of items that must fail the same way before the run pauses; fewer if it has fewer.
pub const FIRST_CALLS: usize = 10;

const PAUSED: &str = "so the run is paused. No item was marked as failed.";

/// Why the run is paused: the error, the output of the process if there is one, and the setting to check.
pub fn reason(failure: &Failure, calls: usize) -> String {
    let mut lines = vec![failure.message.clone()];
    let detail = failure.detail.as_ref().map(|detail| detail.value());
    let stderr = detail.as_ref().and_then(|detail| detail["stderr"].as_str()).unwrap_or_default();
    lines.extend(stderr.trim_end().lines().map(|line| format!("  {line}")));
    lines.push(match calls {
        1 => format!("  The first call failed, {PAUSED}"),
        _ => format!("  The first {calls} calls failed, {PAUSED}"),
    });
    lines.extend(failure.setting.as_ref().map(|setting| format!("help: check {setting}")));
    lines.join("\n")
}

/// Whether a run was paused for such a reason.
pub fn is_reason(reason: &str) -> bool {
    reason.contains(PAUSED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ErrorClass;
    use crate::json::Json;

    #[test]
    fn the_reason_has_the_error_the_traceback_and_the_setting() {
        let failure = Failure::new(ErrorClass::Network, "cannot reach http://127.0.0.1:8999/v1: connection refused");
        let text = reason(&failure.clone().at_setting("`target.openai.base_url`"), 10);
        assert_eq!(
            text,
            "cannot reach http://127.0.0.1:8999/v1: connection refused\n  The first 10 calls failed, so the run is \
             paused. No item was marked as failed.\nhelp: check `target.openai.base_url`"
        );
        assert!(is_reason(&text) && !is_reason("budget reached"));
        let detail = serde_json::json!({ "stderr": "Traceback\n  File\nImportError: no\n" });
        let text = reason(&failure.with_detail(Json::of(&detail)), 1);
        assert!(text.contains("\n  Traceback\n    File\n  ImportError: no\n  The first call failed, "), "{text}");
    }
}
