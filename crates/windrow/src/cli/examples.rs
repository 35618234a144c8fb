//! Examples of every command, for its help and for `docs/cli.md`.

const EXAMPLES: &[(&str, &[&str])] = &[
    ("init", &["windrow init", "windrow init orders --kind ingest"]),
    ("completions", &["windrow completions bash", "windrow completions zsh"]),
    ("check", &["windrow check capitals.yaml", "windrow check capitals.yaml --json"]),
    (
        "run",
        &[
            "windrow run capitals.yaml",
            "windrow run capitals.yaml --dry-run",
            "windrow run capitals.yaml --json --quiet",
            "windrow run pipeline.yaml --column draft",
        ],
    ),
    ("plan", &["windrow plan tasks-max.yaml", "windrow plan tasks-max.yaml --limit 200"]),
    (
        "results",
        &[
            "windrow results capitals --where 'score.exact < 0.5'",
            "windrow results capitals --status fail --sort=-latency_ms",
            "windrow results capitals --group outcome",
        ],
    ),
    ("results rebuild", &["windrow results rebuild capitals"]),
    ("label", &["windrow label capitals 17 exact=fail --reason 'wrong city'", "windrow label capitals --next"]),
    ("datasets add", &["windrow datasets add hard-cases --from capitals --where 'outcome = fail'"]),
    ("trends", &["windrow trends capitals", "windrow trends capitals --metric exact.mean"]),
    ("agreement", &["windrow agreement capitals"]),
    ("compare", &["windrow compare capitals#1 capitals#2", "windrow compare capitals#1 capitals#2 --format lean"]),
    ("gates", &["windrow gates capitals", "windrow gates capitals#2 --baseline capitals#1"]),
    (
        "report",
        &["windrow report capitals --format junit -o junit.xml", "windrow report capitals#2 --baseline capitals#1"],
    ),
    (
        "export",
        &[
            "windrow export capitals -o capitals.parquet",
            "windrow export capitals#2 --format csv --where 'outcome = fail' --columns row,input,output,score.exact",
            "windrow export capitals -o capitals.html",
        ],
    ),
    (
        "jobs list",
        &["windrow jobs list", "windrow jobs list --status paused", "windrow jobs list --kind ingest --json"],
    ),
    ("jobs show", &["windrow jobs show capitals", "windrow jobs show capitals --json"]),
    (
        "jobs items",
        &[
            "windrow jobs items capitals --status failed",
            "windrow jobs items capitals --where 'error in (timeout, server)'",
            "windrow jobs items capitals --sort=-latency_ms --limit 10",
        ],
    ),
    ("jobs item", &["windrow jobs item capitals 23"]),
    (
        "jobs cells",
        &[
            "windrow jobs cells pipeline --status failed",
            "windrow jobs cells pipeline --column draft",
            "windrow jobs cells pipeline --item 1001 --column draft",
        ],
    ),
    (
        "jobs logs",
        &[
            "windrow jobs logs capitals",
            "windrow jobs logs capitals --follow",
            "windrow jobs logs capitals --level error",
        ],
    ),
    ("jobs why", &["windrow jobs why capitals"]),
    ("jobs stats", &["windrow jobs stats", "windrow jobs stats capitals --json"]),
    ("jobs pause", &["windrow jobs pause capitals --reason 'provider outage'"]),
    ("jobs resume", &["windrow jobs resume capitals", "windrow jobs resume capitals --here --budget 5"]),
    ("jobs cancel", &["windrow jobs cancel capitals", "windrow jobs cancel capitals --now"]),
    (
        "jobs retry",
        &[
            "windrow jobs retry capitals",
            "windrow jobs retry capitals --error timeout",
            "windrow jobs retry capitals --unjudged",
            "windrow jobs retry pipeline --column draft",
        ],
    ),
    ("jobs approve", &["windrow jobs approve tasks-max", "windrow jobs approve tasks-max --wave 3"]),
    ("jobs rollback", &["windrow jobs rollback tasks-max", "windrow jobs rollback tasks-max --wave 2"]),
    ("jobs targets", &["windrow jobs targets tasks-max --status fail", "windrow jobs targets tasks-max --format csv"]),
    ("jobs clone", &["windrow jobs clone capitals capitals-copy"]),
    (
        "jobs schedule",
        &[
            "windrow jobs schedule capitals '0 6 * * *'",
            "windrow jobs schedule capitals 'tz=Europe/Berlin catch_up=all 0 6 * * *'",
        ],
    ),
    ("jobs unschedule", &["windrow jobs unschedule capitals"]),
    ("jobs pin", &["windrow jobs pin capitals"]),
    ("jobs unpin", &["windrow jobs unpin capitals"]),
    ("jobs delete", &["windrow jobs delete capitals", "windrow jobs delete capitals --yes"]),
    ("jobs prune", &["windrow jobs prune", "windrow jobs prune --completed 1 --failed 14 --yes"]),
    (
        "datasets import",
        &[
            "windrow datasets import capitals.csv",
            "windrow datasets import rows.jsonl --name capitals --schema rows.schema.json",
        ],
    ),
    ("datasets list", &["windrow datasets list"]),
    ("datasets show", &["windrow datasets show capitals", "windrow datasets show capitals@2 --rows 20"]),
    ("datasets diff", &["windrow datasets diff capitals@1", "windrow datasets diff capitals@1 capitals@2"]),
    (
        "datasets export",
        &["windrow datasets export capitals -o capitals.parquet", "windrow datasets export capitals@1 --format csv"],
    ),
    ("datasets delete", &["windrow datasets delete capitals@1", "windrow datasets delete capitals --yes"]),
    ("ingest progress", &["windrow ingest progress", "windrow ingest progress --operation harvest"]),
    ("ingest lineage", &["windrow ingest lineage orders", "windrow ingest lineage orders#4 --slice 2026-11-09"]),
    (
        "ingest checkpoints",
        &["windrow ingest checkpoints orders", "windrow ingest checkpoints orders 2026-11-09 --limit 5"],
    ),
    ("ingest diff", &["windrow ingest diff orders 3 7 --slice 2026-11-09"]),
    ("ingest restore", &["windrow ingest restore orders 7", "windrow ingest restore orders 7 --if-version 12"]),
    ("ingest edit", &["windrow ingest edit orders --position null", "windrow ingest edit orders --high-water-mark 42"]),
    (
        "ingest backfill",
        &[
            "windrow ingest backfill orders --from 2026-01-01 --to 2026-02-01",
            "windrow ingest backfill orders --slice 2026-11-09",
        ],
    ),
    (
        "ingest rejected",
        &["windrow ingest rejected orders", "windrow ingest rejected orders --slice 2026-11-09 --json"],
    ),
    ("ingest replay", &["windrow ingest replay orders", "windrow ingest replay orders --id 7 --id 9"]),
    (
        "secrets set",
        &[
            "windrow secrets set OPENAI_API_KEY",
            "pass show openai | windrow secrets set OPENAI_API_KEY",
            "windrow secrets set TLS_KEY --from-file client.pem",
        ],
    ),
    ("secrets list", &["windrow secrets list"]),
    ("secrets delete", &["windrow secrets delete OPENAI_API_KEY"]),
    ("secrets rekey", &["windrow secrets rekey", "windrow secrets rekey --new-key new-master.key"]),
    (
        "serve",
        &[
            "windrow serve",
            "windrow serve --listen 0.0.0.0:7373 --require-keys --tls-cert cert.pem --tls-key key.pem",
            "windrow serve --roles worker --workers 512",
        ],
    ),
    (
        "worker",
        &[
            "windrow worker --server https://windrow.example:7373",
            "windrow worker --server http://127.0.0.1:7373 --workers 8 --capability gpu",
        ],
    ),
    ("analytics status", &["windrow analytics status"]),
    ("analytics check", &["windrow analytics check", "windrow analytics check capitals"]),
    ("analytics rebuild", &["windrow analytics rebuild", "windrow analytics rebuild capitals"]),
    ("analytics usage", &["windrow analytics usage --days 7"]),
    (
        "analytics rows",
        &["windrow analytics rows --by flakiest", "windrow analytics rows capitals --by slowest --limit 5"],
    ),
    ("alerts", &["windrow alerts", "windrow alerts --json"]),
    ("nodes list", &["windrow nodes list"]),
    ("nodes drain", &["windrow nodes drain ses_0ajh000000000"]),
    (
        "keys create",
        &[
            "windrow keys create ann --role operator",
            "windrow keys create ci --role operator --workspace team-a --expires 90d",
        ],
    ),
    ("keys list", &["windrow keys list"]),
    ("keys revoke", &["windrow keys revoke ann"]),
    (
        "webhooks create",
        &[
            "windrow webhooks create https://example.com/hook --events 'run.*'",
            "windrow webhooks create https://example.com/hook --job capitals",
        ],
    ),
    ("webhooks list", &["windrow webhooks list"]),
    ("webhooks test", &["windrow webhooks test hook_0ajh000000000"]),
    ("webhooks pause", &["windrow webhooks pause hook_0ajh000000000"]),
    ("webhooks resume", &["windrow webhooks resume hook_0ajh000000000"]),
    ("webhooks rotate", &["windrow webhooks rotate hook_0ajh000000000 --overlap 24"]),
    ("webhooks delete", &["windrow webhooks delete hook_0ajh000000000"]),
    ("webhooks deliveries", &["windrow webhooks deliveries hook_0ajh000000000 --status failed"]),
    ("webhooks redeliver", &["windrow webhooks redeliver 17"]),
    ("audit", &["windrow audit", "windrow audit --actor ann --limit 100"]),
    ("doctor", &["windrow doctor", "windrow doctor --verbose", "windrow doctor --json"]),
    ("config show", &["windrow config show"]),
    ("backup", &["windrow backup windrow-monday.tar.zst", "windrow backup windrow-monday.tar.zst --with-master-key"]),
    ("restore", &["windrow --data restored restore windrow-monday.tar.zst"]),
    ("migrate-store", &["windrow migrate-store --to postgres://windrow:secret@db/windrow"]),
    (
        "mock model",
        &[
            "windrow mock model",
            "windrow mock model --faults '429:20%:retry_after=1s,500:5%,hang:1%'",
            "windrow mock model --phases '10s:429,5s:500' --rpm 600",
        ],
    ),
    (
        "mock connect",
        &[
            "windrow mock connect --connectors 200",
            "windrow mock connect --faults '409:2%,500:1%,after:1%,timeout:1%' --broken 3%",
        ],
    ),
    (
        "mock source",
        &[
            "windrow mock source --records 100000",
            "windrow mock source --faults '503:5%,429:2%:retry_after=1s' --latency 20ms",
        ],
    ),
    ("help", &["windrow help jobs retry", "windrow help options", "windrow help exit-codes"]),
];

/// `path` is without the name of the program: `jobs retry`.
pub fn of(path: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(known, _)| *known == path).map_or(&[], |(_, examples)| examples)
}

#[cfg(test)]
pub fn paths() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(path, _)| *path)
}
