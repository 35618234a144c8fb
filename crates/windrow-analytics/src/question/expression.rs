//! Names and conditions in the SQL of ClickHouse, with the meaning of `Seen::value` and `Condition::holds`: a test of
//! what is null does not hold, and the opposite of a condition is its complement.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use regex_syntax::hir::print::Printer;
use windrow_model::gate::Comparison;
use windrow_model::label::{NOTE, OUTCOME};
use windrow_model::step::Verdict;
use windrow_results::query::{Operand, Test};
use windrow_results::{Condition, Kind, Name, Sort};

use crate::client::literal;

/// What a row answers to a name.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    /// `Nullable(Float64)`
    Number(String),
    /// `Nullable(String)`
    Text(String),
    /// `Array(String)`
    Words(String),
}

/// The columns of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    /// The evaluators with a column of their own, in their order.
    pub slots: Vec<String>,
    /// All rows of the table.
    pub table: String,
    /// The same, beside the rows of the baseline if there is one.
    pub from: String,
}

/// The row of the dataset and the variant.
pub(super) const PLACE: &str = "row_key, isNull(variant), ifNull(variant, '')";

/// As [`Verdict`]s are shown: the worst first.
const WORST_FIRST: [Verdict; 4] = [Verdict::Fail, Verdict::Error, Verdict::Pass, Verdict::Skipped];

impl Columns {
    pub fn of(&self, name: &Name) -> Expression {
        let number = |sql: &str| Expression::Number(format!("toFloat64({sql})"));
        let text = |sql: &str| Expression::Text(sql.to_owned());
        let flag = |sql: &str| Expression::Text(format!("if({sql}, 'true', 'false')"));
        match name {
            Name::Id => number("item_id"),
            Name::Row => number("row"),
            Name::Key => text("row_key"),
            Name::Variant => text("toNullable(toString(variant))"),
            Name::Target => text("splitByChar('.', assumeNotNull(variant))[1]").unless("isNull(variant)"),
            Name::Prompt => text("substring(assumeNotNull(variant), position(assumeNotNull(variant), '.') + 1)")
                .unless("isNull(variant) OR position(assumeNotNull(variant), '.') = 0"),
            Name::Trial => number("trial"),
            Name::State => text("toString(state)"),
            Name::Outcome => text("toString(outcome)"),
            Name::Run => number("run"),
            Name::Error => text("toString(error_class)"),
            Name::Message => text("error"),
            Name::Tries => number("tries"),
            Name::Turns => number("turns"),
            // Questions that ask for it are answered by the database.
            Name::Removed => flag("false"),
            Name::Flaky => flag(&self.flaky()),
            Name::Reviewed => {
                flag(&format!("arrayExists((n, o) -> n != {} AND o, labels.name, {COUNTS})", literal(NOTE)))
            }
            Name::LatencyMs => number("latency_ms"),
            Name::TokensIn => number("tokens_in"),
            Name::TokensOut => number("tokens_out"),
            Name::Tokens => number("tokens_in + tokens_out"),
            Name::Cost => number("cost_nanos / 1e9"),
            Name::FinishedAt => number("finished_ms"),
            Name::Trace => text("trace"),
            Name::Input => text("input"),
            Name::Output => text("output"),
            Name::Expected => text("expected"),
            Name::AnyText => text(
                "arrayStringConcat(arrayConcat([input], if(isNull(output), [], [assumeNotNull(output)]), \
                 mapValues(outputs), scores.reason), '\\n')",
            ),
            Name::OutputOf(column) => {
                let column = literal(column);
                text(&format!("outputs[{column}]")).unless(&format!("NOT mapContains(outputs, {column})"))
            }
            Name::Field(field, Kind::Number) => {
                let field = literal(field);
                number(&format!("numbers[{field}]")).unless(&format!("NOT mapContains(numbers, {field})"))
            }
            Name::Field(field, _) => {
                let field = literal(field);
                text(&format!("fields[{field}]"))
                    .unless(&format!("NOT mapContains(fields, {field}) OR has(nulls, {field})"))
            }
            Name::Score(evaluator) => Expression::Number(self.score(evaluator)),
            Name::Verdict(evaluator) => Expression::Words(format!(
                "arrayFilter((v, n) -> n = {}, scores.verdict, scores.name)",
                literal(evaluator)
            )),
            Name::Reason(evaluator) => Expression::Text(format!(
                "nullIf(arrayStringConcat(arrayFilter((r, n) -> n = {}, scores.reason, scores.name), '\\n'), '')",
                literal(evaluator)
            )),
            Name::Label(name) => {
                let at = format!("indexOf(labels.name, {})", literal(name));
                text(&format!("labels.text[{at}]")).unless(&format!("{at} = 0"))
            }
            Name::Corrected(name) => Expression::Number(self.corrected(name)),
            Name::Delta(evaluator) => Expression::Number(self.delta(evaluator)),
            Name::DeltaLatencyMs => number("latency_ms - before_latency_ms").unless(UNPAIRED),
            Name::DeltaTokens => {
                number("tokens_in + tokens_out - before_tokens_in - before_tokens_out").unless(UNPAIRED)
            }
            Name::DeltaCost => number("(cost_nanos - before_cost_nanos) / 1e9").unless(UNPAIRED),
            Name::Change(evaluator) => {
                let delta = self.delta(evaluator);
                text(&format!("multiIf({delta} > 0, 'improved', {delta} < 0, 'regressed', 'same')"))
                    .unless(&format!("isNull({delta})"))
            }
            Name::BaselineScore(evaluator) => Expression::Number(before_score(evaluator)),
            Name::BaselineOutput => text("before_output").unless(UNPAIRED),
            Name::BaselineOutcome => text("toString(before_outcome)").unless(UNPAIRED),
        }
    }

    fn score(&self, evaluator: &str) -> String {
        match self.slots.iter().position(|name| name == evaluator) {
            Some(slot) => format!("score_{}", slot + 1),
            None => lowest("scores.name", "scores.value", evaluator),
        }
    }

    pub fn delta(&self, evaluator: &str) -> String {
        format!("({} - {})", self.score(evaluator), before_score(evaluator))
    }

    fn corrected(&self, name: &str) -> String {
        let at = format!("indexOf(labels.name, {})", literal(name));
        let computed = match name == OUTCOME {
            true => format!("coalesce({}, if(outcome = 'pass', 1, if(outcome = 'fail', 0, NULL)))", self.score(name)),
            false => self.score(name),
        };
        format!("toFloat64(if({at} > 0 AND ({COUNTS})[{at}], ({NUMBERS})[{at}], {computed}))")
    }

    /// Trials of its row and variant have different outcomes.
    pub fn flaky(&self) -> String {
        format!(
            "({PLACE}) IN (SELECT {PLACE} FROM {} WHERE outcome IN ('pass', 'fail', 'error') GROUP BY {PLACE} \
             HAVING uniqExact(outcome) > 1)",
            self.table
        )
    }

    /// 1 or 0, never null.
    pub fn condition(&self, condition: Option<&Condition>) -> String {
        match condition {
            None => "1".to_owned(),
            Some(Condition::And(a, b)) => format!("({} AND {})", self.condition(Some(a)), self.condition(Some(b))),
            Some(Condition::Or(a, b)) => format!("({} OR {})", self.condition(Some(a)), self.condition(Some(b))),
            Some(Condition::Not(inner)) => format!("(NOT {})", self.condition(Some(inner))),
            Some(Condition::Test { name, test }) => format!("({})", self.of(name).test(test)),
        }
    }

    /// What comes after `ORDER BY`: null last, ties in the order of the dataset.
    pub fn order(&self, order: &[Sort]) -> String {
        let by_place = "row, item_id".to_owned();
        order.iter().map(|sort| self.key(sort)).chain([by_place]).collect::<Vec<_>>().join(", ")
    }

    fn key(&self, sort: &Sort) -> String {
        let value = match (self.of(&sort.name), sort.name.words()) {
            (Expression::Number(sql), _) => sql,
            (other, Some(words)) => {
                let words: Vec<String> = words.into_iter().map(literal).collect();
                let text = other.text();
                format!("if(isNull({text}), NULL, indexOf([{}], {text}))", words.join(", "))
            }
            (other, None) => other.text(),
        };
        let direction = if sort.descending { "DESC" } else { "ASC" };
        format!("isNull({value}), {value} {direction}")
    }
}

/// No row of the baseline belongs to the row.
pub(super) const UNPAIRED: &str = "before_item = 0";
/// Of each label, whether it stands for a computed value, and the number it stands for.
pub(super) const COUNTS: &str = "arrayMap((o, v, w) -> NOT o AND (isNotNull(v) OR ifNull(w IN ('pass', 'fail'), 0)), \
                                 labels.outdated, labels.value, labels.verdict)";
pub(super) const NUMBERS: &str = "arrayMap((v, w) -> coalesce(v, toFloat64(w = 'pass')), labels.value, labels.verdict)";
/// And the verdict it stands for: what was said, or whether the value is at least 0.5.
pub(super) const VERDICTS: &str = "arrayMap((v, w) -> if(isNotNull(w), if(w = 'pass', 'pass', 'fail'), \
                                   if(v >= 0.5, 'pass', 'fail')), labels.value, labels.verdict)";

/// The lowest value of an evaluator over the turns.
fn lowest(names: &str, values: &str, evaluator: &str) -> String {
    let own = format!("arrayFilter((v, n) -> n = {} AND isNotNull(v), {values}, {names})", literal(evaluator));
    format!("if(empty({own}), NULL, arrayMin({own}))")
}

fn before_score(evaluator: &str) -> String {
    lowest("before_names", "before_values", evaluator)
}

impl Expression {
    fn unless(self, null: &str) -> Self {
        match self {
            Expression::Number(sql) => Expression::Number(format!("if({null}, NULL, {sql})")),
            Expression::Text(sql) => Expression::Text(format!("if({null}, NULL, {sql})")),
            words => words,
        }
    }

    /// As a text; of several words the worst.
    pub fn text(&self) -> String {
        match self {
            Expression::Number(sql) => format!("toString({sql})"),
            Expression::Text(sql) => sql.clone(),
            Expression::Words(sql) => {
                let found = WORST_FIRST.map(|verdict| format!("has({sql}, '{verdict}'), '{verdict}'"));
                format!("multiIf({}, NULL)", found.join(", "))
            }
        }
    }

    fn test(&self, test: &Test) -> String {
        match test {
            Test::IsNull => match self {
                Expression::Words(sql) => format!("empty({sql})"),
                Expression::Number(sql) | Expression::Text(sql) => format!("isNull({sql})"),
            },
            Test::Compare(comparison, operand) => self.compare(*comparison, operand),
            Test::In(operands) => {
                let equal: Vec<String> =
                    operands.iter().map(|operand| self.compare(Comparison::Equal, operand)).collect();
                if equal.is_empty() { "0".to_owned() } else { equal.join(" OR ") }
            }
            Test::Contains(part) if part.is_empty() => format!("isNotNull({})", self.text()),
            Test::Contains(part) => format!("ifNull(position(lowerUTF8({}), {}) > 0, 0)", self.text(), literal(part)),
            Test::Matches(pattern) => {
                format!("ifNull(match({}, {}), 0)", self.text(), literal(&plain(pattern.as_str())))
            }
        }
    }

    fn compare(&self, comparison: Comparison, operand: &Operand) -> String {
        let sign = match comparison {
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::More => ">",
            Comparison::AtLeast => ">=",
            Comparison::Equal => "=",
            Comparison::Unequal => "!=",
        };
        match (self, operand) {
            (Expression::Number(sql), Operand::Number(number)) => format!("ifNull({sql} {sign} {}, 0)", float(*number)),
            (Expression::Text(sql), Operand::Text(text)) => format!("ifNull({sql} {sign} {}, 0)", literal(text)),
            (Expression::Words(sql), operand) => {
                let has = match operand {
                    Operand::Text(word) => format!("has({sql}, {})", literal(word)),
                    Operand::Number(_) => "0".to_owned(),
                };
                match comparison {
                    Comparison::Equal => has,
                    Comparison::Unequal => format!("notEmpty({sql}) AND NOT {has}"),
                    _ => "0".to_owned(),
                }
            }
            // A number is neither equal nor unequal to a text.
            (Expression::Number(_), Operand::Text(_)) | (Expression::Text(_), Operand::Number(_)) => "0".to_owned(),
        }
    }
}

/// A number as it is, also in its last digit.
pub(super) fn float(number: f64) -> String {
    format!("reinterpretAsFloat64(toUInt64({}))", number.to_bits())
}

/// A pattern without flags and named classes, of which ClickHouse knows fewer. What it does not know at all, such as the
/// bounds of words in any script, it rejects; then the database answers.
fn plain(pattern: &str) -> String {
    let print = |hir: &Hir| {
        let mut printed = String::new();
        Printer::new().print(hir, &mut printed).ok().map(|()| printed.replace('\0', r"\x{0}"))
    };
    let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern).ok();
    let unknown = |hir: &Hir| hir.properties().look_set().contains_word_unicode();
    match parsed.filter(|hir| !unknown(hir)).as_ref().and_then(print) {
        Some(printed) => printed,
        // No pattern of ClickHouse: it is refused.
        None => "(?unknown)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_the_same_without_flags() {
        assert_eq!(plain("^a.b$"), "(?:(?m:^)a[\\x{0}-\u{9}\u{b}-\u{10ffff}]b(?m:$))");
        assert!(plain("(?i)ß").contains('ẞ') && !plain(r"\d").contains('d'));
        assert_eq!(plain(r"\bword\b"), "(?unknown)");
    }

    #[test]
    fn texts_cannot_end_a_statement() {
        let name = Name::Field("it's \\ x".to_owned(), Kind::Text);
        let sql = Columns::default().condition(Some(&Condition::Test { name, test: Test::Contains("');--".into()) }));
        assert!(sql.contains(r"'it\'s \\ x'") && sql.contains(r"'\');--'"), "{sql}");
    }
}
