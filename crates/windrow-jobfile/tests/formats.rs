//! Every format: the same rows in, the same items out, whatever the page size and wherever it resumes.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use windrow_jobfile::dataset::{DatasetFile, Format, Position, Profile, ReadError, Row, write};
use windrow_model::Json;

const WRITTEN: [Format; 4] = [Format::Jsonl, Format::Json, Format::Csv, Format::Parquet];

fn folder_with(name: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn file(folder: &TempDir, format: Format) -> DatasetFile {
    DatasetFile::named(folder.path().join(format!("rows.{format}")), None, None).unwrap()
}

fn write_rows(file: &DatasetFile, rows: &[Map<String, Value>]) {
    let mut profile = Profile::default();
    rows.iter().for_each(|row| profile.add(row));
    let out = Box::new(std::io::BufWriter::new(std::fs::File::create(&file.path).unwrap()));
    let mut writer = write::writer(file.format, out, &profile).unwrap();
    rows.iter().for_each(|row| writer.write(&Json::of(row)).unwrap());
    writer.finish().unwrap();
}

/// All rows from a place on, and the places before each and at the end.
fn read_from(file: &DatasetFile, position: Position) -> (Vec<Row>, Vec<Position>) {
    let mut rows = file.open(position).unwrap();
    let (mut found, mut places) = (Vec::new(), Vec::new());
    loop {
        let (before, at_end) = (rows.position(), rows.at_end().unwrap());
        let Some(row) = rows.next_row() else { return (found, places) };
        assert!(!at_end, "a row behind the end");
        places.push(before);
        found.push(row.unwrap());
    }
}

fn fields(rows: &[Row]) -> Vec<Map<String, Value>> {
    rows.iter().map(|row| row.fields.clone()).collect()
}

/// Reading from the place before any row yields that row and those after it.
fn resumes_everywhere(file: &DatasetFile) {
    let (all, places) = read_from(file, Position::START);
    for (no, position) in places.iter().enumerate().skip(1) {
        assert_eq!(read_from(file, *position).0, all[no..], "{:?} at {position:?}", file.format);
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "[ -~äß\"\\\\\n,\\[\\]{}]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn rows() -> impl Strategy<Value = Vec<Map<String, Value>>> {
    let row = prop::collection::btree_map("[a-d.]{1,2}", value(), 1..4);
    prop::collection::vec(row.prop_map(|row| row.into_iter().collect()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_are_read_back_as_they_were_written(rows in rows()) {
        let folder = tempfile::tempdir().unwrap();
        for format in [Format::Jsonl, Format::Json, Format::Parquet] {
            let file = file(&folder, format);
            write_rows(&file, &rows);
            prop_assert_eq!(fields(&read_from(&file, Position::START).0), rows.clone(), "{}", format);
            resumes_everywhere(&file);
        }
        // YAML 1.2 contains JSON.
        let yaml = DatasetFile { format: Format::Yaml, ..file(&folder, Format::Json) };
        prop_assert_eq!(fields(&read_from(&yaml, Position::START).0), rows.clone());
        resumes_everywhere(&yaml);
    }

    #[test]
    fn rows_of_text_survive_csv(texts in prop::collection::vec("[ -~ä\n]{0,8}", 1..20)) {
        let folder = tempfile::tempdir().unwrap();
        let row = |text: &String| Map::from_iter([("id".to_owned(), json!("x")), ("text".to_owned(), json!(text))]);
        let rows: Vec<_> = texts.iter().map(row).collect();
        let file = file(&folder, Format::Csv);
        write_rows(&file, &rows);
        prop_assert_eq!(fields(&read_from(&file, Position::START).0), rows);
        resumes_everywhere(&file);
    }
}

#[test]
fn a_row_has_one_identity_in_every_format() {
    let folder = folder_with("rows.yaml", "- {n: 1, t: ü}\n- n: 2\n  t: |\n    two\n    lines\n");
    let row = |n: i64, t: &str| Map::from_iter([("n".to_owned(), json!(n)), ("t".to_owned(), json!(t))]);
    let rows = [row(1, "ü"), row(2, "two\nlines\n")];
    let keys = |file: &DatasetFile| {
        read_from(file, Position::START).0.into_iter().map(|row| Row::key(row.fields)).collect::<Vec<_>>()
    };
    let yaml = keys(&file(&folder, Format::Yaml));
    for format in WRITTEN.into_iter().filter(|format| *format != Format::Csv) {
        let file = file(&folder, format);
        write_rows(&file, &rows);
        assert_eq!(keys(&file), yaml, "{format}");
    }
}

/// The list is passed element by element: the reader's buffers stay as large as one row.
#[test]
fn a_large_json_list_is_paged_from_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "{\"name\": \"big\", \"meta\": {\"n\": [1, 2]}, \"rows\": [\n".to_owned();
    for n in 0..200_000 {
        let comma = if n == 0 { "" } else { ",\n" };
        write!(text, "{comma}  {{\"n\": {n},\n   \"s\": \"}}],{{\"}}").unwrap();
    }
    text += "\n], \"count\": 200000}\n";
    std::fs::write(folder.path().join("rows.json"), &text).unwrap();
    let file = file(&folder, Format::Json);
    let mut rows = file.open(Position::START).unwrap();
    let mut marked = None;
    for n in 0..200_000 {
        if n == 150_000 {
            marked = Some(rows.position());
        }
        let row = rows.next_row().unwrap().unwrap();
        assert_eq!((row.fields["n"].as_i64(), row.line), (Some(n), n as u64 * 2 + 2));
    }
    assert!(rows.next_row().is_none());
    let position = marked.unwrap();
    assert_eq!(position.line, 300_002);
    let mut again = file.open(position).unwrap();
    assert_eq!(again.next_row().unwrap().unwrap().fields["n"], 150_000);
}

#[track_caller]
fn complaints(name: &str, text: &str) -> Vec<(u64, String)> {
    let folder = folder_with(name, text);
    let file = DatasetFile::named(folder.path().join(name), None, None).unwrap();
    let bad = |error: ReadError| match error {
        ReadError::Row(bad) => (bad.line, format!("{}; {}", bad.message, bad.help)),
        ReadError::File(error) => (0, error.to_string()),
    };
    let mut rows = match file.open(Position::START) {
        Ok(rows) => rows,
        Err(error) => return vec![bad(error)],
    };
    let mut found = Vec::new();
    while let Some(row) = rows.next_row() {
        found.extend(row.err().map(bad));
    }
    found
}

#[track_caller]
fn complains(name: &str, text: &str, expected: &[(u64, &str)]) {
    let found = complaints(name, text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((line, message), (expected_line, part)) in found.iter().zip(expected) {
        assert!(line == expected_line && message.contains(part), "{part:?} at {expected_line} in {found:#?}");
    }
}

#[test]
fn json_problems_name_their_line() {
    let text = "[\n{\"a\": 1},\n{\"a\": ,\n \"b\": 2},\n7,\n{\"a\": 3}\n]\n";
    complains("rows.json", text, &[(3, "not JSON: expected value"), (5, "not an object with fields")]);
    complains("rows.json", "[{\"a\": 1},\n]", &[(2, "a comma behind the last row")]);
    complains("rows.json", "[{\"a\": 1}\n{\"a\": 2}]", &[(2, "expected a comma")]);
    complains("rows.json", "[{\"a\": 1},\n{\"a\": \"2", &[(2, "not JSON: EOF"), (2, "the file ends before the list")]);
    complains("rows.json", "[{\"a\": 1}", &[(1, "the file ends before the list")]);
    complains("rows.json", "[{\"a\": 1}]\n]", &[(2, "expected the end of the file")]);
    complains("rows.json", "{\"a\": [{\"b\": 1}],\n\"c\": []}", &[(2, "a second list")]);
    complains("rows.json", "{\"a\": 1}\n{\"a\": 2}\n", &[(2, "set `format: jsonl`")]);
    complains("rows.json", "\"rows\"", &[(1, "expected a list of rows")]);
    complains("rows.json", "", &[(1, "found the end of the file")]);
    complains("rows.json", "[]", &[]);
    complains("rows.json", "{\"rows\": []}", &[]);
}

#[test]
fn yaml_problems_name_their_line() {
    complains("rows.yaml", "- a: 1\n- 7\n- [x]\n- a: 2\n", &[(2, "is a number"), (3, "is a list")]);
    complains("rows.yaml", "- a: 1\n- b: [1\n", &[(2, "not valid YAML")]);
    complains("rows.yaml", "a: 1\nb: 2\n", &[(1, "found one map")]);
    complains("rows.yaml", "tests:\n  - a: 1\n  - 3\n", &[(3, "is a number")]);
    complains("rows.yaml", "a: 1\n---\na: 2\n---\n- a: 3\n- x\n", &[(6, "is text")]);
    complains("rows.yml", "", &[]);
    let large = complaints("rows.yaml", &"#".repeat(17 << 20));
    assert!(large[0].1.contains("convert it to JSONL"), "{large:?}");
}

#[test]
fn what_is_not_parquet_is_said_to_be_so() {
    let found = complaints("rows.parquet", "a,b\n1,2\n");
    assert!(found[0].1.contains("as Parquet"), "{found:?}");
}

#[test]
fn parquet_resumes_across_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<_> = (0..25_000).map(|n| Map::from_iter([("n".to_owned(), json!(n))])).collect();
    let file = file(&folder, Format::Parquet);
    write_rows(&file, &rows);
    for offset in [0, 1, 9_999, 10_000, 10_001, 20_000, 24_999] {
        let mut rows = file.open(Position { offset, line: offset + 1 }).unwrap();
        let row = rows.next_row().unwrap().unwrap();
        assert_eq!((row.fields["n"].as_u64(), row.line), (Some(offset), offset + 1));
        assert_eq!(rows.at_end().unwrap(), offset == 24_999);
    }
}
