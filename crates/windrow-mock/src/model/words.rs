//! Word-based text metrics: overlap, token counts, and a hash that replaces randomness.

use std::collections::BTreeMap;

/// One token per word, for simplicity.
pub fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Lower-case words without surrounding punctuation.
pub fn of(text: &str) -> impl Iterator<Item = String> + '_ {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(bare).filter(|word| !word.is_empty())
}

/// F1 over the bags of words: 1 for equal words, 0 for none in common.
pub fn overlap(a: &str, b: &str) -> f64 {
    let bag = |text: &str| {
        let mut bag: BTreeMap<String, usize> = BTreeMap::new();
        of(text).for_each(|word| *bag.entry(word).or_default() += 1);
        bag
    };
    let (a, b) = (bag(a), bag(b));
    let (in_a, in_b): (usize, usize) = (a.values().sum(), b.values().sum());
    if in_a + in_b == 0 {
        return 1.0;
    }
    let shared: usize = a.iter().map(|(word, n)| b.get(word).map_or(0, |m| *n.min(m))).sum();
    2.0 * shared as f64 / (in_a + in_b) as f64
}

pub fn hash(seed: u64, text: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(text.as_bytes());
    let bytes = hasher.finalize();
    u64::from_le_bytes(bytes.as_bytes()[..8].try_into().expect("eight bytes"))
}

/// A number in [0, 1) for a text and a purpose; purposes are independent of each other.
pub fn chance(seed: u64, purpose: &str, text: &str) -> f64 {
    hash(seed, &format!("{purpose}\n{text}")) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_counts_shared_words() {
        assert_eq!(overlap("Paris.", "paris"), 1.0);
        assert_eq!(overlap("It is Paris", "Paris"), 0.5);
        assert_eq!(overlap("Rome", "Paris"), 0.0);
        assert_eq!(overlap("", "!"), 1.0);
    }

    #[test]
    fn chances_are_spread_and_repeatable() {
        let low = (0..1000).filter(|n| chance(0, "wrong", &n.to_string()) < 0.07).count();
        assert!((50..95).contains(&low), "{low}");
        assert_eq!(chance(1, "a", "x"), chance(1, "a", "x"));
        assert_ne!(chance(1, "a", "x"), chance(2, "a", "x"));
    }
}
