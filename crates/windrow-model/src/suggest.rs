//! "Did you mean": the known words that a misspelt one resembles.

const ALIKE: f64 = 0.75;

/// The closest first.
pub fn similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let alike = |candidate: &'a str| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate);
    let mut found: Vec<_> = known.into_iter().map(alike).filter(|(likeness, _)| *likeness >= ALIKE).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    similar(word, known).first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_words_find_their_original_and_others_find_none() {
        let known = ["evaluators", "target", "concurrency"];
        assert_eq!(nearest("evaluater", known), Some("evaluators"));
        assert_eq!(nearest("Concurency", known), Some("concurrency"));
        assert_eq!(nearest("xyz", known), None);
    }
}
