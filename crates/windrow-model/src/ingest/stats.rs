//! I5: what a batch did, in numbers that can be added up.

use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = IngestStats)]
pub struct Stats {
    /// Records as they came from the source.
    pub fetched: i64,
    /// Records written or written over.
    pub upserted: i64,
    /// Records left out by a rule, or because the same batch had them twice.
    pub skipped: i64,
    /// Records put aside with a reason.
    pub failed: i64,
    pub pages: i64,
    /// Times that a token led to the next page.
    pub tokens_used: i64,
    /// What the source took.
    pub latency_ms: i64,
    pub parse_ms: i64,
    /// Tries at the source that failed in passing.
    pub transient_errors: i64,
    /// Records that the rules of the plan or of the destination refused.
    pub business_errors: i64,
    pub bytes_in: i64,
    /// Bytes of the records as they were handed to the destination.
    pub bytes_out: i64,
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.fetched += other.fetched;
        self.upserted += other.upserted;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.pages += other.pages;
        self.tokens_used += other.tokens_used;
        self.latency_ms += other.latency_ms;
        self.parse_ms += other.parse_ms;
        self.transient_errors += other.transient_errors;
        self.business_errors += other.business_errors;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }
}

impl Stats {
    /// I11: the share of records that were put aside.
    pub fn error_ratio(&self) -> f64 {
        match self.upserted + self.failed {
            0 => 0.0,
            judged => self.failed as f64 / judged as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_requirement() {
        let value = serde_json::to_value(Stats::default()).unwrap();
        let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = [
            "businessErrors",
            "bytesIn",
            "bytesOut",
            "failed",
            "fetched",
            "latencyMs",
            "pages",
            "parseMs",
            "skipped",
            "tokensUsed",
            "transientErrors",
            "upserted",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn every_number_is_added() {
        let one: Stats = serde_json::from_value(serde_json::json!({
            "fetched": 1, "upserted": 2, "skipped": 3, "failed": 4, "pages": 5, "tokensUsed": 6, "latencyMs": 7,
            "parseMs": 8, "transientErrors": 9, "businessErrors": 10, "bytesIn": 11, "bytesOut": 12,
        }))
        .unwrap();
        let mut sum = one;
        sum += one;
        let (one, sum) = (serde_json::to_value(one).unwrap(), serde_json::to_value(sum).unwrap());
        for (name, value) in one.as_object().unwrap() {
            assert_eq!(sum[name].as_i64(), value.as_i64().map(|n| 2 * n), "{name}");
        }
    }
}
