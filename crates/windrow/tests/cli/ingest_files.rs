//! File sources and destinations: JSON Lines and Parquet files are read back unchanged, even after the writer was
//! killed.

use std::io::Write;

use crate::ingest::{BY_TOKEN, holds_exactly, number, run, write_plan};
use crate::mock_source::MockSource;
use crate::place::{Place, wait_until};

fn load_files(place: &Place, pattern: &str) {
    place.write(
        "plan.yaml",
        &format!(
            "kind: ingest\nname: back\nsource:\n  files: {{ path: \"{pattern}\" }}\ntable: orders\nkey: id\n\
             destination:\n  sqlite: {{ path: orders.db }}\n"
        ),
    );
    run(place).ended_with(0);
}

#[test]
fn files_of_both_kinds_hold_every_record_once_and_are_read_back() {
    for (kind, extension) in [("jsonl", "jsonl"), ("parquet", "parquet")] {
        let place = Place::empty();
        let source = MockSource::start(&place, &["--records", "20000", "--page-size", "500", "--latency", "10ms"]);
        write_plan(&place, &source, "records", BY_TOKEN, "");
        place.edit("plan.yaml", "sqlite: { path: orders.db }", &format!("{kind}: {{ path: out, batch: 2000 }}"));
        for pages in [6, 15, 22] {
            let killed = place.start(&["run", "plan.yaml", "--quiet"]);
            wait_until("more pages", || source.pages() >= pages);
            killed.kill();
        }
        run(&place).ended_with(0);
        let files = std::fs::read_dir(place.path("out/orders")).unwrap();
        let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let whole = names.iter().filter(|name| !name.starts_with('.')).count();
        assert_eq!(whole, 10, "{names:?}");
        load_files(&place, &format!("out/orders/*.{extension}"));
        holds_exactly(&place, 20_000);
    }
}

#[test]
fn formats_and_gzip_are_read_and_later_files_only_once() {
    let place = Place::empty();
    std::fs::create_dir(place.path("in")).unwrap();
    let row = |id: usize| (id, format!("order {id}"), id * 31 % 10_007);
    let jsonl: String = (1..=1500)
        .map(row)
        .map(|(id, name, c)| format!("{{\"id\":{id},\"name\":\"{name}\",\"customer\":{c}}}\n"))
        .collect();
    place.write("in/a.jsonl", &jsonl);
    let json = |ids: std::ops::RangeInclusive<usize>| -> String {
        ids.map(row).map(|(id, name, c)| format!("{{\"id\":{id},\"name\":\"{name}\",\"customer\":{c}}}\n")).collect()
    };
    let packed = std::fs::File::create(place.path("in/b.jsonl.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
    packed.write_all(json(1501..=4000).as_bytes()).unwrap();
    packed.finish().unwrap();
    load_files(&place, "in/*");
    holds_exactly(&place, 4000);
    place.write("in/c.jsonl", &json(4001..=4100));
    // If an earlier file were read again, the ledger would contain its records twice.
    load_files(&place, "in/*");
    holds_exactly(&place, 4100);
    assert_eq!(number(&place, "SELECT sum(records) FROM _windrow_ledger"), 4100);
}

#[test]
fn csv_is_text_and_an_unreadable_row_is_rejected() {
    let place = Place::empty();
    place.write("rows.csv", "id,zip\n1,00420\n2,12345\n");
    place.write("rows.jsonl", "{\"id\":\"3\",\"zip\":\"1\"}\nnot json\n{\"id\":\"4\",\"zip\":\"2\"}\n");
    place.write(
        "plan.yaml",
        "kind: ingest\nname: zips\nsource:\n  files: { path: \"rows.*\" }\ntable: orders\nkey: id\n\
         destination:\n  sqlite: { path: orders.db }\n",
    );
    run(&place).ended_with(0);
    assert_eq!(number(&place, "SELECT count(*) FROM orders WHERE typeof(zip) = 'text'"), 4);
    assert_eq!(number(&place, "SELECT zip = '00420' FROM orders WHERE id = '1'"), 1);
    assert_eq!(number(&place, "SELECT count(*) FROM _windrow_rejected WHERE record LIKE '%rows.jsonl:2:%'"), 1);
}
