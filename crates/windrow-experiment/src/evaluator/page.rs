//! Prints `docs/evaluators.md` from what stands beside each evaluator, so that the page cannot drift
//! from the code.

use std::fmt::Write;

use super::{Doc, EVALUATORS};

const INTRODUCTION: &str = "# Evaluators

Generated from `crates/windrow-experiment/src/evaluator` by `make docs`. Do not edit.

An evaluator judges one output. It returns a **value** from 0 to 1, a **verdict** (`pass`, `fail`,
`error`, `skipped`) and a **reason**. `error` means the evaluator could not judge, and says nothing
about the output; it is never counted as a low value.

They stand in the job file's list `evaluators`. Every one may have

- `name`: its column in the results. Without one it is named after its kind: `exact`, `exact_2` …
- `over`: `turn` (the default: each answer) or `conversation` (once, at the end: the output is the
  transcript, latency and usage are those of all turns)
- `when`: an expression over the row, such as `lang == \"en\"`. Rows for which it does not hold are
  `skipped`.

Fields marked *template* may use the row's fields: `\"{{ capital }}\"`. A row that lacks the field reads
`error` for this evaluator; if no row has it, the job file is refused. All fields are checked before
anything is stored, and every problem is reported with its line and a remedy.

Evaluators with a graded value have a `threshold`: from this value on an output passes.

Findings are kept by content: an evaluator that was changed is computed anew, and nothing else is. A
call of a model is a step of its own and is made once, even if the threshold changes later.
A call that fails in a way that may pass (network, rate limit) is tried again as the job's `retry` says,
while the results of the target and of the other evaluators stand; in the end it is `error`.

| evaluator | passes when the output … | value |
|---|---|---|
";

const END: &str = "
## How equality with the references is kept

`make test` installs sacreBLEU, rouge-score, rapidfuzz and jsonschema from PyPI in `target/python-env` and
compares several thousand random and real pairs, each to 10⁻⁹; `json_schema` also runs the required cases
of the official draft 2020-12 suite, except for the 22 schemas that live in other documents, which it
refuses. The versions are in `crates/windrow-experiment/tests/reference/requirements.txt`.
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
