//! Who acts: a user of this machine, the holder of an API key, or anybody where a server has no keys. What an
//! actor may not see does not exist for it.

use windrow_model::KeyId;
use windrow_model::access::{DEFAULT_WORKSPACE, Role};

use crate::error::{Code, Error, Result};

#[derive(Debug, Clone)]
pub struct Actor {
    /// For logs and the audit log.
    pub name: String,
    pub role: Role,
    pub key: Option<KeyId>,
    /// The only workspace it may use; `None`: all.
    pub workspace: Option<String>,
}

impl Actor {
    /// The user of this machine, who has the data directory anyway.
    pub fn local() -> Self {
        let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into());
        Self { name, role: Role::Admin, key: None, workspace: None }
    }

    /// Any client of a server without keys, which listens on this machine only.
    pub fn open() -> Self {
        Self { name: "http".to_owned(), role: Role::Admin, key: None, workspace: None }
    }

    /// The workspace of a request that names none.
    pub fn home(&self) -> &str {
        self.workspace.as_deref().unwrap_or(DEFAULT_WORKSPACE)
    }

    pub fn sees(&self, workspace: &str) -> bool {
        self.workspace.as_deref().is_none_or(|own| own == workspace)
    }

    /// Rejects an actor with a lesser role.
    pub fn check_role(&self, least: Role) -> Result<()> {
        if self.role.may(least) {
            return Ok(());
        }
        let what = format!("role {least} required; the key {:?} has role {}", self.name, self.role);
        Err(Error::new(what, "use a key with that role, or ask an admin").coded(Code::Forbidden))
    }

    /// Rejects an actor of one workspace.
    pub fn check_all_workspaces(&self) -> Result<()> {
        match &self.workspace {
            None => Ok(()),
            Some(own) => {
                let what = format!("access to all workspaces required; the caller is limited to {own:?}");
                Err(Error::new(what, "use a key for all workspaces").coded(Code::Forbidden))
            }
        }
    }

    /// The same actor, limited to one of its workspaces.
    pub fn confined_to(mut self, workspace: &str) -> Result<Self> {
        if !self.sees(workspace) {
            let what = format!("no access to workspace {workspace:?}");
            return Err(Error::new(what, format!("use {:?}, or ask an admin", self.home())).coded(Code::Forbidden));
        }
        self.workspace = Some(workspace.to_owned());
        Ok(self)
    }

    /// The same actor, in the workspace that the request names, if any.
    pub fn within(&self, named: Option<&str>) -> Result<Self> {
        match named {
            Some(workspace) => self.clone().confined_to(workspace),
            None => Ok(self.clone()),
        }
    }
}
