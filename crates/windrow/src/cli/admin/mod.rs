pub mod alerts;
pub mod audit;
pub mod backup;
pub mod config_show;
pub mod doctor;
pub mod keys_create;
pub mod keys_list;
pub mod keys_revoke;
pub mod migrate_store;
pub mod nodes;
pub mod restore;
pub mod secrets_delete;
pub mod secrets_list;
pub mod secrets_rekey;
pub mod secrets_set;
#[cfg(test)]
pub mod settings_page;
pub mod webhooks;
