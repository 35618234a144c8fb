//! Generates `docs/evaluators.md` from the `Doc` of each evaluator, so that the page cannot drift from the code.

use std::fmt::Write;

use super::{Doc, EVALUATORS};

const INTRODUCTION: &str = "# Evaluators

Generated from `crates/windrow-experiment/src/evaluator` by `make docs`. Do not edit.

An evaluator judges one output. List evaluators under `evaluators` in the job file:

```yaml
- exact: { expect: \"{{ capital }}\", ignore_case: true }
- contains: { expect: \"{{ capital }}\", name: mentions_it, when: country != \"France\" }
```

Each evaluator returns a **value** from 0 to 1, a **verdict** (`pass`, `fail`, `error`, `skipped`) and a **reason**. `error`
means that the evaluator could not judge. It says nothing about the output and never counts as a low value.

All evaluators have these optional fields:

- `name`: the column in the results. The default is the kind: `exact`, `exact_2` …
- `over`: `turn` (default: judge each answer) or `conversation` (judge once, at the end: the output is the transcript, latency
  and usage are totals of all turns)
- `when`: an expression over the row, e.g. `lang == \"en\"`. Other rows are `skipped`.
- `of`: the [column](columns.md) to judge, in a job with `columns`.

Fields marked *template* can use the row's fields: `\"{{ capital }}\"`. If a row lacks the field, this evaluator's verdict is
`error`. If no row has it, the job file is invalid. Windrow validates all fields before it stores anything, and reports every
error with its line and a remedy.

Evaluators with a graded value have a `threshold`: values at or above it pass.

Scores are stored by content. If you change an evaluator, only that evaluator is computed again. Each model call is a
recorded step and is made once, even if the threshold changes later. A call with a transient error (network, rate limit) is
retried following `retry` in the job file; results of the target and of other evaluators are kept. After the last attempt the
verdict is `error`.

| evaluator | passes when the output … | value |
|---|---|---|
";

const END: &str = "
## Reference implementations

`make test` installs sacreBLEU, rouge-score, rapidfuzz and jsonschema from PyPI in `target/python-env`. It compares several
thousand random and real pairs, each to 10⁻⁹. `json_schema` also runs the required cases of the official draft 2020-12
suite, except 22 cases whose schemas are in other documents, which Windrow rejects. The versions are pinned in
`crates/windrow-experiment/tests/reference/requirements.txt`.
";

/// The whole page.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for kind in EVALUATORS {
        let Doc { passes, value, .. } = kind.doc;
        let _ = writeln!(page, "| [`{0}`](#{0}) | {passes} | {value} |", kind.name);
    }
    for kind in EVALUATORS {
        let _ = writeln!(page, "\n## {}\n\n{}", kind.name, kind.doc.text);
    }
    page + END
}

#[cfg(test)]
mod tests {
    /// `make docs` writes the page; this fails when it was forgotten.
    #[test]
    fn the_committed_page_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluators.md");
        let page = super::page();
        if std::env::var_os("WINDROW_WRITE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == page, "docs/evaluators.md is stale; run `make docs` and commit it");
    }
}
