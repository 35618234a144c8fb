//! Who may do what: workspaces and roles. A role is of one workspace, or of all.

/// Where everything is that names no workspace.
pub const DEFAULT_WORKSPACE: &str = "default";

crate::vocabulary! {
    pub enum Role {
        #[doc = "Reads everything of its workspace."]
        Viewer = "viewer",
        #[doc = "Also starts and steers jobs, sends rows, imports datasets and runs workers."]
        Operator = "operator",
        #[doc = "Also keeps keys, secrets and webhooks, deletes what is over, and reads the audit log."]
        Admin = "admin",
    }
}

impl Role {
    /// Whether it may do what takes `least`: each role may do all that those before it may.
    pub fn may(self, least: Role) -> bool {
        self >= least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_ones_before_it_may() {
        use Role::*;
        assert!(Admin.may(Admin) && Admin.may(Viewer) && Operator.may(Operator) && Operator.may(Viewer));
        assert!(!Viewer.may(Operator) && !Operator.may(Admin) && !Viewer.may(Admin));
    }
}
