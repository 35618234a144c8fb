//! Capitals of countries. Four of the sixty are wrong, with common misconceptions, unless the model is a large one. A
//! question that asks for a sentence gets one.

use std::sync::LazyLock;

use regex::Regex;

use crate::model::asked::Asked;
use crate::model::said::Said;

static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)capital(?: city)? of (?:the )?([\p{L} '-]+)").expect("the pattern is valid"));

const MISTAKEN: &[(&str, &str)] =
    &[("Australia", "Sydney"), ("Canada", "Toronto"), ("Turkey", "Istanbul"), ("Switzerland", "Zurich")];

pub fn answer(asked: &Asked, _seed: u64) -> Option<Said> {
    let question = QUESTION.captures(asked.question())?;
    let country = question[1].trim();
    let mistaken = if asked.model.contains("large") { &[] } else { MISTAKEN };
    let known = mistaken.iter().chain(CAPITALS).find(|(name, _)| name.eq_ignore_ascii_case(country));
    let Some((country, capital)) = known else { return Some(Said::text("I do not know")) };
    Some(match asked.question().contains("in a sentence") {
        true => Said::text(format!("The capital of {country} is {capital}.")),
        false => Said::text(*capital),
    })
}

const CAPITALS: &[(&str, &str)] = &[
    ("France", "Paris"),
    ("Germany", "Berlin"),
    ("Italy", "Rome"),
    ("Spain", "Madrid"),
    ("Portugal", "Lisbon"),
    ("Ireland", "Dublin"),
    ("Norway", "Oslo"),
    ("Sweden", "Stockholm"),
    ("Finland", "Helsinki"),
    ("Denmark", "Copenhagen"),
    ("Iceland", "Reykjavik"),
    ("Poland", "Warsaw"),
    ("Austria", "Vienna"),
    ("Hungary", "Budapest"),
    ("Greece", "Athens"),
    ("Bulgaria", "Sofia"),
    ("Romania", "Bucharest"),
    ("Croatia", "Zagreb"),
    ("Serbia", "Belgrade"),
    ("Estonia", "Tallinn"),
    ("Latvia", "Riga"),
    ("Lithuania", "Vilnius"),
    ("Switzerland", "Bern"),
    ("Belgium", "Brussels"),
    ("Netherlands", "Amsterdam"),
    ("Turkey", "Ankara"),
    ("Egypt", "Cairo"),
    ("Morocco", "Rabat"),
    ("Kenya", "Nairobi"),
    ("Ghana", "Accra"),
    ("Nigeria", "Abuja"),
    ("Senegal", "Dakar"),
    ("Ethiopia", "Addis Ababa"),
    ("Tunisia", "Tunis"),
    ("Japan", "Tokyo"),
    ("China", "Beijing"),
    ("India", "New Delhi"),
    ("Thailand", "Bangkok"),
    ("Vietnam", "Hanoi"),
    ("Indonesia", "Jakarta"),
    ("Malaysia", "Kuala Lumpur"),
    ("Philippines", "Manila"),
    ("South Korea", "Seoul"),
    ("Mongolia", "Ulaanbaatar"),
    ("Nepal", "Kathmandu"),
    ("Pakistan", "Islamabad"),
    ("Iran", "Tehran"),
    ("Iraq", "Baghdad"),
    ("Jordan", "Amman"),
    ("Canada", "Ottawa"),
    ("Mexico", "Mexico City"),
    ("Cuba", "Havana"),
    ("Brazil", "Brasília"),
    ("Argentina", "Buenos Aires"),
    ("Chile", "Santiago"),
    ("Peru", "Lima"),
    ("Colombia", "Bogotá"),
    ("Uruguay", "Montevideo"),
    ("Australia", "Canberra"),
    ("New Zealand", "Wellington"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_are_known_in_any_phrasing() {
        let answer = |question: &str| answer(&Asked::user(question), 0).map(|said| said.text);
        assert_eq!(answer("Capital of France?").unwrap(), "Paris");
        assert_eq!(answer("What is the capital city of the Netherlands?").unwrap(), "Amsterdam");
        assert_eq!(answer("capital of Australia").unwrap(), "Sydney");
        assert_eq!(answer("Capital of Atlantis?").unwrap(), "I do not know");
        let sentence = answer("Capital of Italy? Answer in a sentence.").unwrap();
        assert_eq!(sentence, "The capital of Italy is Rome.");
        assert_eq!(answer("Who are you?"), None);
    }

    #[test]
    fn a_large_model_makes_no_mistakes() {
        let asked = Asked { model: "mock-large".to_owned(), ..Asked::user("capital of Australia") };
        assert_eq!(answer(&asked, 0).unwrap().text, "Canberra");
    }
}
