//! Executes the commands of documentation pages. A fenced block with a file name creates that file. Lines after `$` in
//! a `console` block are commands, followed by their output. `…` alone on a line matches any lines; at the end of a
//! line it matches the rest of the line.

use crate::columns::example;
use crate::mock_model::MockModel;
use crate::place::Place;

#[test]
fn the_commands_in_docs_datasets_work() {
    let commands = follow(include_str!("../../../../docs/datasets.md"));
    assert!(commands >= 8, "only {commands} commands were found");
}

#[test]
fn the_commands_in_docs_checks_work() {
    assert_eq!(follow(include_str!("../../../../docs/checks.md")), 2);
}

/// The examples over two runs, with some rows reviewed.
#[test]
fn the_commands_in_docs_results_work() {
    let place = Place::empty();
    let mock = MockModel::start(&place, &[]);
    ["matrix", "capitals"].iter().for_each(|name| example(&place, name, &format!("{}/v1", mock.origin)));
    place.windrow(&["run", "matrix.yaml"]).ended_with(0);
    place.windrow(&["run", "capitals.yaml"]).ended_with(0);
    place.edit("capitals.yaml", "Capital of", "What is the capital of");
    place.windrow(&["run", "capitals.yaml"]).ended_with(0);
    for row in ["row <= 20", "row = 23"] {
        place.windrow(&["label", "capitals", "--where", row, "exact=pass"]).ended_with(0);
    }
    let commands = follow_in(&place, include_str!("../../../../docs/results.md"));
    assert!(commands >= 6, "only {commands} commands were found");
}

fn follow(page: &str) -> usize {
    follow_in(&Place::empty(), page)
}

fn follow_in(place: &Place, page: &str) -> usize {
    let mut commands = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').unwrap_or((block, ""));
        match head.split_once(' ') {
            Some((_, file)) => place.write(file, &format!("{body}\n")),
            None if head == "console" => commands += perform(place, body),
            None => {}
        }
    }
    commands
}

fn perform(place: &Place, block: &str) -> usize {
    let block = block.replace("\\\n    ", "");
    let commands = block.strip_prefix("$ ").unwrap_or_else(|| panic!("{block:?} begins with a command")).split("\n$ ");
    let mut count = 0;
    for command in commands {
        let (line, expected) = command.split_once('\n').unwrap_or((command, ""));
        let words = words(line);
        let said = place.windrow(&words.iter().skip(1).map(String::as_str).collect::<Vec<_>>());
        // On stderr, and only for the first command that stores something.
        let printed = format!("{}{}", said.stdout, said.stderr).replace("Created the data directory .windrow\n", "");
        let (printed, expected) = (without_times(&printed), without_times(expected));
        let (mut expected, mut found) = (expected.lines().peekable(), printed.lines().peekable());
        while let Some(wanted) = expected.next() {
            if wanted == "…" {
                let next = expected.peek().copied();
                while found.peek().is_some() && found.peek().copied() != next {
                    found.next();
                }
                continue;
            }
            let line_found = found.next().unwrap_or("");
            let fits = match wanted.strip_suffix('…') {
                Some(start) => line_found.starts_with(start),
                None => line_found == wanted,
            };
            assert!(fits, "{line}: expected {wanted:?}, found {line_found:?} in\n{printed}");
        }
        assert_eq!(found.next(), None, "{line} printed more:\n{printed}");
        count += 1;
    }
    count
}

/// Moments are those of the test.
fn without_times(text: &str) -> String {
    let is_time = |word: &str| word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let line = |line: &str| {
        line.split(' ').map(|word| if is_time(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// As a shell splits a line: single quotes keep what is between them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("never empty").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
