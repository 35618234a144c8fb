//! The health checks (I10), as a server makes them all the time: stalled runs.

use windrow_model::Time;
use windrow_model::health::{Finding, HealthThresholds};
use windrow_model::store::Extent;

use crate::app::App;
use crate::app::doctor::Check;
use crate::error::Result;

const NAME: &str = "health";

pub async fn check(app: &App, now: Time) -> Result<Check> {
    Ok(judge(&app.store.health(Extent::All, HealthThresholds::default(), now).await?.findings))
}

fn judge(findings: &[Finding]) -> Check {
    let ill: Vec<&Finding> = findings.iter().filter(|finding| finding.count > 0).collect();
    let Some(first) = ill.first() else { return Check::ok(NAME, "no stalled runs") };
    let counts: Vec<String> =
        ill.iter().map(|finding| format!("{}.count is {}", finding.check, finding.count)).collect();
    Check::warning(NAME, counts.join(", "), first.check.remedy())
}

#[cfg(test)]
mod tests {
    use windrow_model::health;

    use super::*;
    use crate::app::doctor::Grade;

    fn finding(check: health::Check, count: i64) -> Finding {
        Finding { check, count, examples: Vec::new() }
    }

    #[test]
    fn what_stands_still_is_counted_and_the_first_says_what_to_do() {
        let none = [finding(health::Check::TaskZombie, 0), finding(health::Check::RunStall, 0)];
        assert_eq!(judge(&none).grade, Grade::Ok);
        let some = [finding(health::Check::TaskZombie, 0), finding(health::Check::RunStall, 2)];
        let check = judge(&some);
        assert_eq!((check.grade, check.finding.as_str()), (Grade::Warning, "run.stall.count is 2"));
        assert_eq!(check.remedy.as_deref(), Some(health::Check::RunStall.remedy()));
    }
}
