//! Where a prepared operation has its targets from: rows of the store, read page by page, or the definition itself.

use windrow_jobfile::dataset::{Library, RowList};
use windrow_jobfile::spec::invalid_request;
use windrow_model::store::StoreError;
use windrow_model::{DatasetVersionId, ErrorClass, Failure};

use super::spec::Targets;
use super::target::Target;

pub struct TargetSource {
    targets: Targets,
    workspace: String,
    library: Option<Library>,
    /// Found at the first page.
    version: tokio::sync::OnceCell<DatasetVersionId>,
}

impl TargetSource {
    pub fn new(targets: Targets, workspace: &str, library: Option<Library>) -> Self {
        Self { targets, workspace: workspace.to_owned(), library, version: tokio::sync::OnceCell::new() }
    }

    /// At most `limit` targets from a place on, and whether they are the last.
    pub async fn page(&self, from: usize, limit: usize) -> Result<(Vec<Target>, bool), Failure> {
        let list = match &self.targets {
            Targets::Stored(list) => list,
            Targets::Inline(targets) => {
                let to = from.saturating_add(limit).min(targets.len());
                return Ok((targets.get(from..to).unwrap_or_default().to_vec(), to >= targets.len()));
            }
        };
        let library = self.library.as_ref().ok_or_else(|| invalid_request("no store is open to read targets from"))?;
        let version = *self.version.get_or_try_init(|| self.find(library, list)).await?;
        let rows = library.page(version, from as i64, limit).await.map_err(unread)?;
        let done = rows.is_empty() || (from + rows.len()) as u64 >= list.rows;
        let target = |row: &windrow_model::dataset::DatasetRow| {
            row.body.parse().map_err(|error| invalid_request(format!("target {} is damaged: {error}", row.ordinal + 1)))
        };
        Ok((rows.iter().map(target).collect::<Result<_, _>>()?, done))
    }

    async fn find(&self, library: &Library, list: &RowList) -> Result<DatasetVersionId, Failure> {
        let found = library.find_list(&self.workspace, list).await.map_err(unread)?;
        found.ok_or_else(|| invalid_request("the list of targets has been deleted; submit the job file again"))
    }
}

fn unread(error: StoreError) -> Failure {
    let class = if error.is_transient() { ErrorClass::Server } else { ErrorClass::InvalidRequest };
    Failure::new(class, format!("the targets cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn targets_inside_an_earlier_definition_are_paged() {
        let inline = Targets::Inline(["a", "b", "c"].map(Target::named).to_vec());
        let source = TargetSource::new(inline, "default", None);
        let names = |page: &[Target]| page.iter().map(|target| target.name.clone()).collect::<Vec<_>>();
        let (first, done) = source.page(0, 2).await.unwrap();
        assert_eq!((names(&first), done), (vec!["a".to_owned(), "b".to_owned()], false));
        let (rest, done) = source.page(2, 2).await.unwrap();
        assert_eq!((names(&rest), done), (vec!["c".to_owned()], true));
    }
}
