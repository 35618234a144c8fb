//! Pages of the dataset (E8): resumable by cursor, the same page for the same cursor.

use std::collections::BTreeSet;
use std::fmt::Write;

use windrow_jobfile::dataset::{Format, Profile, write};
use windrow_model::ErrorClass;
use windrow_model::workload::{Program, SourcePage};

use crate::fixture::{Folder, job, json, prepare, program};

const LOCAL: &str = "http://127.0.0.1:8099/v1";

fn rows(order: impl Iterator<Item = usize>) -> String {
    order.fold(String::new(), |mut text, no| {
        writeln!(text, "{{\"country\": \"c{no}\", \"capital\": \"ü{no}\"}}").unwrap();
        text
    })
}

pub async fn pages(program: &dyn Program, limit: usize) -> Vec<SourcePage> {
    let mut pages: Vec<SourcePage> = Vec::new();
    loop {
        let cursor = pages.last().and_then(|page| page.cursor.clone());
        let page = program.page(cursor.as_ref(), limit).await.unwrap();
        assert_eq!(program.page(cursor.as_ref(), limit).await.unwrap(), page, "the same cursor, the same page");
        let done = page.done;
        pages.push(page);
        if done {
            return pages;
        }
    }
}

#[tokio::test]
async fn pages_join_to_the_whole_dataset_whatever_their_size() {
    let text = format!("\u{feff}{}\n\n{}", rows(0..7), rows(7..10).trim_end());
    let (_folder, program) = program(&job(LOCAL, ""), &text).await;
    let whole = program.page(None, 1000).await.unwrap();
    assert_eq!((whole.items.len(), whole.done), (10, true));
    for limit in [1, 3, 5, 10] {
        let joined: Vec<_> = pages(&*program, limit).await.into_iter().flat_map(|page| page.items).collect();
        assert_eq!(joined, whole.items, "limit {limit}");
    }
}

#[tokio::test]
async fn csv_pages_join_too_with_line_breaks_inside_fields() {
    let folder = Folder::new(&[
        ("job.yaml", &job(LOCAL, "").replace("capitals.jsonl", "capitals.csv")),
        (
            "capitals.csv",
            "country,capital\r\nFrance,Paris\r\n\"a\r\nb\",\"x,\"\"y\"\"\"\r\n\r\nJapan,Tokyo\r\nPeru,Lima",
        ),
    ]);
    let program = prepare(&folder.load().unwrap()).await;
    let whole = program.page(None, 1000).await.unwrap();
    assert_eq!(whole.items.len(), 4);
    assert_eq!(whole.items[1].input.value(), serde_json::json!({"country": "a\r\nb", "capital": "x,\"y\""}));
    for limit in [1, 2, 3] {
        let joined: Vec<_> = pages(&*program, limit).await.into_iter().flat_map(|page| page.items).collect();
        assert_eq!(joined, whole.items, "limit {limit}");
    }
}

/// E8, for every format: the cursor is all that is needed to go on.
#[tokio::test]
async fn pages_of_every_format_join_to_the_same_items() {
    let folder = Folder::new(&[("job.yaml", "")]);
    let list: Vec<serde_json::Value> =
        (0..25).map(|no| serde_json::json!({"country": format!("c{no}"), "capital": "a\nb"})).collect();
    folder.write("rows.json", &serde_json::to_string_pretty(&list).unwrap());
    folder.write("rows.yaml", &format!("# rows\nrows: {}\n", serde_json::to_string(&list).unwrap()));
    folder.write("rows.jsonl", &list.iter().map(|row| format!("{row}\n")).collect::<String>());
    let mut profile = Profile::default();
    list.iter().for_each(|row| profile.add(row.as_object().unwrap()));
    for format in [Format::Csv, Format::Parquet] {
        let out = std::fs::File::create(folder.path(&format!("rows.{format}"))).unwrap();
        let mut writer = write::writer(format, Box::new(out), &profile).unwrap();
        list.iter().for_each(|row| writer.write(&json(&row.to_string())).unwrap());
        writer.finish().unwrap();
    }
    let mut keys = BTreeSet::new();
    for format in Format::ALL {
        folder.write("job.yaml", &job(LOCAL, "").replace("capitals.jsonl", &format!("rows.{format}")));
        let program = prepare(&folder.load().unwrap_or_else(|report| panic!("{}", report.render()))).await;
        let whole = program.page(None, 1000).await.unwrap();
        assert_eq!((whole.items.len(), whole.done), (25, true), "{format}");
        for limit in [1, 3, 7, 25] {
            let joined: Vec<_> = pages(&*program, limit).await.into_iter().flat_map(|page| page.items).collect();
            assert_eq!(joined, whole.items, "{format} by {limit}");
        }
        keys.insert(whole.items.into_iter().map(|item| item.key).collect::<Vec<_>>());
    }
    assert_eq!(keys.len(), 1, "a row is the same item in every format");
}

#[tokio::test]
async fn keys_are_of_the_content_and_survive_reordering() {
    let keys = |page: SourcePage| page.items.iter().map(|item| item.key).collect::<BTreeSet<_>>();
    let (_a, forward) = program(&job(LOCAL, ""), &rows(0..50)).await;
    let swapped = rows((0..50).rev())
        .replace("{\"country\": \"c7\", \"capital\": \"ü7\"}", "{\"capital\":\"\\u00fc7\",\"country\":\"c7\"}");
    let (_b, backward) = program(&job(LOCAL, ""), &swapped).await;
    let (forward, backward) = (forward.page(None, 99).await.unwrap(), backward.page(None, 99).await.unwrap());
    assert_eq!(keys(forward.clone()).len(), 50);
    assert_eq!(keys(forward), keys(backward));
}

#[tokio::test]
async fn rows_added_later_follow_the_last_cursor() {
    let (folder, program) = program(&job(LOCAL, ""), &rows(0..3)).await;
    let first = program.page(None, 10).await.unwrap();
    assert!(first.done);
    folder.write("capitals.jsonl", &rows(0..5));
    let second = program.page(first.cursor.as_ref(), 10).await.unwrap();
    assert_eq!((second.items.len(), second.done), (2, true));
    assert_eq!(second.items[0].input.value()["country"], "c3");
}

#[tokio::test]
async fn a_row_broken_since_the_check_is_named_when_it_is_planned() {
    let (folder, program) = program(&job(LOCAL, ""), &rows(0..3)).await;
    folder.write("capitals.jsonl", &format!("{}oops\n", rows(0..3)));
    let first = program.page(None, 3).await.unwrap();
    assert!(!first.done);
    let failure = program.page(first.cursor.as_ref(), 3).await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::InvalidRequest);
    assert!(failure.message.contains("capitals.jsonl:4: this row is not JSON"), "{failure}");
    let bad_cursor = program.page(Some(&json("7")), 3).await.unwrap_err();
    assert_eq!(bad_cursor.class, ErrorClass::InvalidRequest);
}

/// T5: items naming the same resource never run together.
#[tokio::test]
async fn a_row_names_its_resource_priority_and_start_time() {
    let yaml = job(LOCAL, "row: { resource: \"{{ capital }}\", priority: \"{{ prio }}\", not_before: \"{{ at }}\" }\n");
    let rows = "{\"country\": \"a\", \"capital\": \"x\", \"prio\": 1, \"at\": \"1970-01-01T00:00:02Z\"}\n\
                {\"country\": \"b\", \"capital\": \"x\", \"prio\": \"9\", \"at\": \"\"}\n";
    let (_folder, program) = program(&yaml, rows).await;
    let items = program.page(None, 10).await.unwrap().items;
    let found: Vec<_> =
        items.iter().map(|i| (i.resource.as_deref(), i.priority.get(), i.not_before.map(|at| at.0))).collect();
    assert_eq!(found, [(Some("x"), 1, Some(2000)), (Some("x"), 9, None)]);
}
