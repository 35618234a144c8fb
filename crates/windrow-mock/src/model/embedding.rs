//! Embeddings: every word and every trigram of a text is hashed to a dimension, so that texts with common words have
//! similar vectors.

use super::words;

pub const DIMENSIONS: usize = 256;

pub fn of(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions.max(1)];
    let mut add = |part: &str, weight: f32| {
        let hash = words::hash(0, part);
        let sign = if hash & 1 == 0 { 1.0 } else { -1.0 };
        let place = (hash >> 1) as usize % vector.len();
        vector[place] += sign * weight;
    };
    for word in words::of(text) {
        add(&word, 1.0);
        let letters: Vec<char> = format!("^{word}$").chars().collect();
        letters.windows(3).for_each(|three| add(&three.iter().collect::<String>(), 0.3));
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    } else {
        vector[0] = 1.0;
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_are_near() {
        let near =
            |a: &str, b: &str| -> f32 { of(a, DIMENSIONS).iter().zip(of(b, DIMENSIONS)).map(|(x, y)| x * y).sum() };
        assert!((near("The order is late", "the order is late.") - 1.0).abs() < 1e-5);
        assert!(near("The order is late", "My orders are late") > near("The order is late", "Paris in spring") + 0.2);
        assert_eq!(of("", 4), [1.0, 0.0, 0.0, 0.0]);
    }
}
