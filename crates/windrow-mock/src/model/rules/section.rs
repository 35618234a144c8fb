//! Finds labelled sections of a prompt: `<answer>…</answer>`, `## Answer`, `[Answer]`, `**Answer:** …` or `Answer: …`.

/// Tries the longest label first, so that `reference answer` does not match `answer`.
pub fn find(text: &str, labels: &[&str]) -> Option<String> {
    labels.iter().find_map(|label| tagged(text, label)).or_else(|| {
        let lines: Vec<&str> = text.lines().collect();
        labels.iter().find_map(|label| {
            let (at, first) = lines.iter().enumerate().find_map(|(no, line)| Some((no, labelled(line, label)?)))?;
            let rest = lines[at + 1..].iter().take_while(|line| !opens_section(line));
            let section = std::iter::once(first).chain(rest.copied()).collect::<Vec<_>>().join("\n");
            Some(bare(&section).to_owned())
        })
    })
}

fn tagged(text: &str, label: &str) -> Option<String> {
    let lower = text.to_lowercase();
    // Lower-casing may change the length of a text, and then byte offsets do not match.
    if lower.len() != text.len() {
        return None;
    }
    [label.to_owned(), label.replace(' ', "_"), label.replace(' ', "-")].iter().find_map(|tag| {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let start = lower.find(&open)? + open.len();
        let end = start + lower[start..].find(&close)?;
        Some(text.get(start..end)?.trim().to_owned())
    })
}

/// The text after the label, if the line starts with the label.
fn labelled<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let marks: &[char] = &['#', '*', '[', ' ', '-', '_'];
    let line = line.trim_start_matches(marks);
    let start = line.get(..label.len()).filter(|start| start.eq_ignore_ascii_case(label))?;
    let rest = &line[start.len()..];
    let after = rest.trim_start_matches([']', '*', '_', ' ']);
    match after.strip_prefix(':') {
        Some(text) => Some(text.trim_start_matches(['*', ' '])),
        None if after.is_empty() => Some(""),
        None => None,
    }
}

/// `## Title`, `[Title]`, `**Title**` or a short `Title:`.
fn opens_section(line: &str) -> bool {
    let line = line.trim();
    let short = |title: &str| !title.is_empty() && title.split_whitespace().count() <= 4;
    let title = line.split_once(':').map(|(title, _)| title.trim_matches(['*', ' ']));
    line.starts_with('#') && !line.starts_with("#1")
        || (line.starts_with('[') && line.ends_with(']'))
        || (line.starts_with("**") && line.trim_end_matches(':').ends_with("**"))
        || title.is_some_and(|title| short(title) && title.starts_with(|c: char| c.is_uppercase()))
}

/// Strips fences and quotes.
fn bare(text: &str) -> &str {
    text.trim().trim_matches(['`', '"']).trim_matches(['-', '=']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_however_they_are_marked() {
        for prompt in [
            "<question>Q?</question>\n<answer>\nIt is Paris.\n</answer>\n<reference>Paris</reference>",
            "Question: Q?\nAnswer: It is Paris.\nReference: Paris\n",
            "## Question\nQ?\n## Answer\nIt is Paris.\n\n## Reference answer\nParis",
            "[Answer]\nIt is Paris.\n[Reference]\nParis\n[End]",
            "**Answer:** It is Paris.\n**Reference:** Paris",
        ] {
            assert_eq!(find(prompt, &["answer"]).as_deref(), Some("It is Paris."), "{prompt}");
            assert_eq!(find(prompt, &["reference answer", "reference"]).as_deref(), Some("Paris"), "{prompt}");
        }
        assert_eq!(find("Reference: x", &["answer"]), None);
    }
}
