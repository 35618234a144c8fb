//! Executes the commands of documentation pages. A fenced block with a file name creates that file. Lines after `$` in
//! a `console` block are commands, followed by their output. `…` alone on a line matches any lines; at the end of a
//! line it matches the rest of the line.

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

fn follow(page: &str) -> usize {
    let place = Place::empty();
    let mut commands = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').unwrap_or((block, ""));
        match head.split_once(' ') {
            Some((_, file)) => place.write(file, &format!("{body}\n")),
            None if head == "console" => commands += perform(&place, body),
            None => {}
        }
    }
    commands
}

fn perform(place: &Place, block: &str) -> usize {
    let commands = block.strip_prefix("$ ").unwrap_or_else(|| panic!("{block:?} begins with a command")).split("\n$ ");
    let mut count = 0;
    for command in commands {
        let (line, expected) = command.split_once('\n').unwrap_or((command, ""));
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let said = place.windrow(&words);
        // On stderr, and only for the first command that stores something.
        let printed = format!("{}{}", said.stdout, said.stderr).replace("Created the data directory .windrow\n", "");
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
