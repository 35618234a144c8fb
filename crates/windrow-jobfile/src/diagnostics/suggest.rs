//! "Did you mean": the known word a misspelt one most resembles.

const ALIKE: f64 = 0.75;

pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
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
