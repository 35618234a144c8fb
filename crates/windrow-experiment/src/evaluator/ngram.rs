//! What BLEU, chrF and ROUGE share: counting runs of n tokens, and Python's idea of white space.

use std::collections::HashMap;
use std::hash::Hash;

/// How often each run of `n` tokens occurs.
pub fn counts<T: Hash + Eq>(tokens: &[T], n: usize) -> HashMap<&[T], usize> {
    let mut counts = HashMap::new();
    for run in tokens.windows(n) {
        *counts.entry(run).or_default() += 1;
    }
    counts
}

/// How many runs of `n` tokens the two have in common, each as often as it is in both.
pub fn matches<T: Hash + Eq>(a: &[T], b: &[T], n: usize) -> usize {
    let b = counts(b, n);
    counts(a, n).iter().map(|(run, count)| (*count).min(b.get(run).copied().unwrap_or(0))).sum()
}

/// How many runs of `n` there are in `len` tokens.
pub fn runs(len: usize, n: usize) -> usize {
    (len + 1).saturating_sub(n)
}

/// White space to Python's `str.split`, which counts four separators that Unicode does not.
pub fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_run_matches_as_often_as_it_is_in_both() {
        let (a, b) = (["x", "y", "x", "y"], ["x", "y", "z"]);
        assert_eq!(matches(&a, &b, 1), 2);
        assert_eq!(matches(&a, &b, 2), 1);
        assert_eq!(matches(&a, &b, 5), 0);
        assert_eq!((runs(4, 2), runs(1, 2), runs(0, 1)), (3, 0, 0));
    }
}
