//! The records of one file.

use std::io::{self, BufWriter, Write};

use serde_json::json;
use windrow_jobfile::dataset::Profile;
use windrow_jobfile::dataset::write::parquet_of;

use crate::record::{Record, Rejected};

#[derive(Debug, Clone, Copy)]
pub enum Shape {
    JsonLines,
    Parquet,
}

impl Shape {
    pub fn extension(self) -> &'static str {
        match self {
            Shape::JsonLines => "jsonl",
            Shape::Parquet => "parquet",
        }
    }

    pub fn write(self, out: std::fs::File, mut records: Vec<Record>) -> io::Result<()> {
        match self {
            Shape::JsonLines => {
                let mut out = BufWriter::with_capacity(256 * 1024, out);
                for record in &records {
                    serde_json::to_writer(&mut out, record)?;
                    out.write_all(b"\n")?;
                }
                out.flush()
            }
            Shape::Parquet => {
                // A column without a value is a field the record does not have.
                let mut profile = Profile::default();
                for record in &mut records {
                    record.retain(|_, value| !value.is_null());
                    profile.add(record);
                }
                parquet_of(Box::new(BufWriter::new(out)), &profile, records)
            }
        }
    }
}

pub fn rejected(out: std::fs::File, rejected: &[Rejected]) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for Rejected { table, record, reason } in rejected {
        writeln!(out, "{}", json!({ "table": table, "record": record, "reason": reason }))?;
    }
    out.flush()
}
