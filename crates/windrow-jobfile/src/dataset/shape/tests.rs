use serde_json::json;

use super::*;

fn read(reading: &Reading, row: Value) -> Result<Value, String> {
    let Value::Object(row) = row else { panic!("a row is an object") };
    reading.read(row).map(Value::Object)
}

/// The fields that a row of that shape has in addition to its own.
#[track_caller]
fn added(row: Value) -> Value {
    let Value::Object(mut read) = read(&Reading::default(), row.clone()).unwrap() else { unreachable!() };
    for (name, value) in row.as_object().unwrap() {
        assert_eq!(read.get(name), Some(value), "the original stays");
    }
    read.retain(|name, _| row.get(name).is_none());
    Value::Object(read)
}

#[test]
fn the_rows_of_other_tools_have_input_and_expected() {
    assert_eq!(added(json!({"input": "a", "target": "b"})), json!({"expected": "b"}));
    assert_eq!(added(json!({"input": "a", "expected": "b", "target": "c"})), json!({}));
    assert_eq!(added(json!({"input": {"q": "a"}, "expected_output": {"r": 1}})), json!({"expected": {"r": 1}}));
    assert_eq!(
        added(json!({"inputs": {"question": "a"}, "outputs": {"answer": "b"}})),
        json!({"question": "a", "answer": "b", "input": "a", "expected": "b"})
    );
    assert_eq!(
        added(json!({"inputs": {"q": "a", "lang": "en"}, "outputs": {"r": "b", "why": "c"}, "q": "mine"})),
        json!({"lang": "en", "r": "b", "why": "c", "input": {"q": "a", "lang": "en"}, "expected": {"r": "b", "why": "c"}})
    );
    assert_eq!(
        added(json!({"vars": {"topic": "a"}, "assert": [{"type": "is-json"}, {"type": "equals", "value": "b"}]})),
        json!({"topic": "a", "input": "a", "expected": "b"})
    );
    assert_eq!(added(json!({"vars": {"topic": "a", "tone": "b"}})), json!({"topic": "a", "tone": "b"}));
    assert_eq!(added(json!({"country": "France", "capital": "Paris"})), json!({}));
}

#[test]
fn messages_become_turns() {
    let message = |role: &str, content: Value| json!({"role": role, "content": content});
    let chat = json!({"id": 7, "messages": [
        message("system", "be kind".into()),
        message("user", "hi".into()),
        message("assistant", Value::Null),
        message("tool", "42".into()),
        message("assistant", "hello".into()),
        message("user", json!([{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": "x"}])),
    ]});
    let expected = json!({
        "system": "be kind",
        "turns": [{"input": "hi", "expected": "hello"}, {"input": "what is this?"}],
    });
    assert_eq!(added(chat), expected);
    let asked = json!([message("user", "2+2?".into())]);
    assert_eq!(added(json!({"input": asked, "target": "4"})), json!({"turns": [{"input": "2+2?", "expected": "4"}]}));
    assert_eq!(
        added(json!({"inputs": {"messages": asked}, "outputs": {"answer": "4"}})),
        json!({"turns": [{"input": "2+2?", "expected": "4"}]})
    );
}

#[test]
fn what_is_no_conversation_stays_as_it_is() {
    assert_eq!(added(json!({"messages": "three of them"})), json!({}));
    assert_eq!(added(json!({"messages": [{"role": "assistant", "content": "first"}]})), json!({}));
    assert_eq!(added(json!({"turns": [{"q": 1}], "input": "a", "target": "b"})), json!({}));
}

#[test]
fn a_shape_that_was_asked_for_must_be_there() {
    let of = |shape| Reading { shape, ..Reading::default() };
    let row = json!({"input": "a", "target": "b"});
    assert_eq!(read(&of(Shape::Plain), row.clone()).unwrap(), row);
    assert_eq!(read(&of(Shape::Messages), row.clone()).unwrap_err(), "it has no field `messages`");
    assert_eq!(read(&of(Shape::Inputs), row.clone()).unwrap_err(), "it has no object `inputs`");
    assert_eq!(read(&of(Shape::Vars), row).unwrap_err(), "it has no object `vars`");
    let odd = json!({"messages": [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]});
    assert_eq!(read(&of(Shape::Messages), odd).unwrap_err(), "in `messages`, message 2 has the unknown role \"robot\"");
}

#[test]
fn fields_are_mapped_before_the_shape_is_looked_at() {
    let fields = [("input", "data.question"), ("target", "data.answers.1"), ("odd", "a.b"), ("gone", "no.such")];
    let fields = fields.iter().map(|(new, old)| ((*new).to_owned(), (*old).to_owned())).collect();
    let reading = Reading { fields, shape: Shape::Auto };
    let row = json!({"data": {"question": "q", "answers": ["x", "y"]}, "a.b": 1, "a": {"b": 2}});
    let read = read(&reading, row).unwrap();
    let seen = ["input", "target", "expected", "odd", "gone"].map(|name| read[name].clone());
    assert_eq!(seen, [json!("q"), json!("y"), json!("y"), json!(1), Value::Null]);
}
