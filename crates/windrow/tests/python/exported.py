"""Reads an exported Parquet file with DuckDB and compares it with the database that it was exported from."""

import json
import sqlite3
import sys

import duckdb

database, file = sys.argv[1:]
table = duckdb.sql(f"SELECT * FROM '{file}' ORDER BY id")
columns, kinds = table.columns, table.types
exported = [dict(zip(columns, row)) for row in table.fetchall()]

store = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
items = store.execute(
    "SELECT i.id, i.ordinal, i.tries, i.latency_ms, i.tokens_in, i.tokens_out, i.cost_nanos, i.archived, i.archived_part, n.body"
    " FROM items i JOIN inputs n ON n.item_id = i.id ORDER BY i.id"
).fetchall()
assert len(exported) == len(items), (len(exported), len(items))
for row, (id, ordinal, tries, latency, tokens_in, tokens_out, nanos, attempt, part, body) in zip(exported, items):
    assert (row["id"], row["row"], row["tries"]) == (id, ordinal + 1, tries), row
    assert (row["latency_ms"], row["tokens_in"], row["tokens_out"]) == (latency, tokens_in, tokens_out), row
    assert abs(row["cost"] - nanos / 1e9) < 1e-15, row
    for name, value in json.loads(body).items():
        if name not in ("trial", "variant"):
            column = row[f"field.{name}"]
            wanted = json.loads(column) if isinstance(value, (list, dict)) else column
            assert wanted == value, (name, value, row)
    scores = store.execute(
        "SELECT name, value, reason FROM scores WHERE attempt_id = ? AND part = ?", (attempt, part)
    ).fetchall()
    assert scores, row
    for name, value, reason in scores:
        assert row[f"score.{name}"] == value, (name, value, row)
        assert (row[f"reason.{name}"] or "") == reason, (name, reason, row)
types = {name: str(kind) for name, kind in zip(columns, kinds)}
print(json.dumps({"rows": len(exported), "types": types, "first": exported[0]}, default=str))
