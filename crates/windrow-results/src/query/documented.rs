//! `docs/query.md` says what the language does: every name and every error on the page is tried here.

use super::{Condition, Grouping, Kind, Names, Sort};

const PAGE: &str = include_str!("../../../../docs/query.md");

fn names() -> Names {
    Names {
        evaluators: vec!["exact".into()],
        fields: [("lang".to_owned(), Kind::Text), ("size".to_owned(), Kind::Number)].into(),
        outputs: vec!["draft".into()],
        ..Names::default()
    }
}

/// The cells of the table under a heading.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let section = PAGE.split(heading).nth(1).unwrap_or_else(|| panic!("no {heading:?}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

fn code_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_error_of_the_page_is_the_error() {
    let rows = table("\n## Errors\n");
    assert!(rows.len() >= 12, "{rows:?}");
    for row in rows {
        // A condition may have code marks inside.
        let condition = code_in(row[0]).next().unwrap();
        let (message, help) = row[1].split_once("; ").unwrap_or((row[1], ""));
        let error = Condition::parse(condition, &names()).expect_err(condition);
        assert!(error.message.starts_with(message), "{condition}: {} is not {message}", error.message);
        for part in help.split(" or ").filter(|part| !part.is_empty()) {
            assert!(error.help.contains(part), "{condition}: {} has no {part:?}", error.help);
        }
    }
}

#[test]
fn every_error_of_an_order_or_a_group_is_the_error() {
    let rows = table("\n## Sort, group and count\n");
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        let (option, text) = row[0].trim_matches('`').split_once(' ').unwrap();
        let text = text.trim_matches('\'');
        let error = match option {
            "--sort" => Sort::parse(text, &names()).expect_err(text),
            _ => Grouping::parse(text, &names()).expect_err(text),
        };
        assert_eq!(format!("{}; {}", error.message, error.help), row[1]);
    }
}

#[test]
fn every_name_of_the_page_is_known_and_every_name_is_on_the_page() {
    let with_baseline = Names { baseline: true, ..names() };
    let mut documented = Vec::new();
    for row in table("\n## Names\n") {
        for name in code_in(row[0]) {
            let name = name.replace("field.NAME", "field.lang").replace("COLUMN", "draft").replace("NAME", "exact");
            with_baseline.find(&name).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            documented.push(name);
        }
    }
    for name in with_baseline.all().iter().map(ToString::to_string).filter(|name| name != "field.size") {
        assert!(documented.contains(&name), "docs/query.md says nothing of `{name}`");
    }
}
