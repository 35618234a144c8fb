use windrow_model::store::{Receipt, Renewal};
use windrow_model::{AttemptId, Lease};

use super::bad::{Bad, missing, parsed};
use super::v1;

impl From<Lease> for v1::LeaseId {
    fn from(lease: Lease) -> Self {
        Self { run: lease.run.to_string(), attempt: lease.attempt.0, fence: lease.fence }
    }
}

impl TryFrom<v1::LeaseId> for Lease {
    type Error = Bad;

    fn try_from(lease: v1::LeaseId) -> Result<Self, Bad> {
        let v1::LeaseId { run, attempt, fence } = lease;
        Ok(Lease { run: parsed("lease.run", &run)?, attempt: AttemptId(attempt), fence })
    }
}

/// Every call about an item must carry its lease.
pub fn required(lease: Option<v1::LeaseId>) -> Result<Lease, Bad> {
    lease.ok_or_else(|| missing("lease"))?.try_into()
}

impl From<Renewal> for v1::LeaseStanding {
    fn from(renewal: Renewal) -> Self {
        Self { alive: renewal.alive, stop: renewal.stop }
    }
}

impl v1::LeaseStanding {
    pub fn of(self, lease: Lease) -> Renewal {
        Renewal { lease, alive: self.alive, stop: self.stop }
    }
}

impl From<Receipt> for v1::Receipt {
    fn from(receipt: Receipt) -> Self {
        match receipt {
            Receipt::Accepted => v1::Receipt::Accepted,
            Receipt::Repeated => v1::Receipt::Repeated,
            Receipt::Stale => v1::Receipt::Stale,
            Receipt::Stop => v1::Receipt::Stop,
        }
    }
}

impl TryFrom<v1::Receipt> for Receipt {
    type Error = Bad;

    fn try_from(receipt: v1::Receipt) -> Result<Self, Bad> {
        match receipt {
            v1::Receipt::Accepted => Ok(Receipt::Accepted),
            v1::Receipt::Repeated => Ok(Receipt::Repeated),
            v1::Receipt::Stale => Ok(Receipt::Stale),
            v1::Receipt::Stop => Ok(Receipt::Stop),
            v1::Receipt::Unspecified => Err(Bad("unknown receipt".to_owned())),
        }
    }
}
