//! The layout of the code base, read from its `use` lines and manifests: no module cycles, and crates and rooms depend
//! on each other in one direction only (docs/architecture.md).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// For each module, the sibling modules whose items it names.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let nested = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries(dir).into_iter().flat_map(nested).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The path of a file's module, from the root of its crate.
fn module_of(src: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let mut parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    parts
}

/// The file without comments and without what is compiled for tests only.
fn code_of(file: &Path) -> String {
    let text = read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn expand(path: &str) -> Vec<String> {
    let Some((head, group)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let group = group.trim_end().trim_end_matches('}');
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for sign in group.chars() {
        depth += i32::from(sign == '{') - i32::from(sign == '}');
        match sign {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(sign),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| expand(&format!("{}{part}", head.trim()))).collect()
}

/// Every path that the file names through `crate::` or `super::`, from the root of its crate.
fn named_paths(module: &[String], code: &str) -> Vec<Vec<String>> {
    static PATHS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(?:crate|super)::(?:\w+::)*(?:\{[^;]*\}(?:;)|\w+)").unwrap());
    let found = PATHS.find_iter(code).flat_map(|path| expand(path.as_str().trim_end_matches(';')));
    let absolute = found.map(|path| {
        let parts: Vec<String> = path.split("::").map(str::to_owned).collect();
        let ups = parts.iter().take_while(|part| *part == "super").count();
        let root = if ups == 0 { &[] } else { &module[..module.len().saturating_sub(ups)] };
        [root, &parts[ups.max(1)..]].concat()
    });
    absolute.collect()
}

/// The modules of a crate, one per file, with the paths each names.
fn modules(src: &Path) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let read = |file: PathBuf| {
        let module = module_of(src, &file);
        let paths = named_paths(&module, &code_of(&file));
        (module, paths)
    };
    sources(src).into_iter().map(read).collect()
}

/// How the direct children of one module name each other.
fn graph(modules: &[(Vec<String>, Vec<Vec<String>>)], room: &[String]) -> Graph {
    let child = |path: &[String]| path.strip_prefix(room).and_then(|rest| rest.first()).cloned();
    let mut graph: Graph = modules.iter().filter_map(|(module, _)| Some((child(module)?, BTreeSet::new()))).collect();
    let children: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, paths) in modules {
        let Some(from) = child(module) else { continue };
        let named = paths.iter().filter_map(|path| child(path)).filter(|to| *to != from && children.contains(to));
        graph.get_mut(&from).unwrap().extend(named);
    }
    graph
}

/// What is left when modules that name no other are taken away, again and again: the members of cycles.
fn cycle(mut graph: Graph) -> Graph {
    while let Some(leaf) = graph.iter().find(|(_, uses)| uses.is_empty()).map(|(name, _)| name.clone()) {
        graph.remove(&leaf);
        graph.values_mut().for_each(|uses| _ = uses.remove(&leaf));
    }
    graph
}

#[test]
fn no_modules_form_a_cycle() {
    let mut found = Vec::new();
    for krate in entries(&crates()).iter().filter(|path| path.join("src").is_dir()) {
        let modules = modules(&krate.join("src"));
        let rooms: BTreeSet<&[String]> =
            modules.iter().flat_map(|(module, _)| (0..module.len()).map(|depth| &module[..depth])).collect();
        for room in rooms {
            let cycle = cycle(graph(&modules, room));
            let name = format!("{} {}", krate.file_name().unwrap().display(), room.join("::"));
            if !cycle.is_empty() {
                found.push(format!("{name}: {cycle:#?}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn crates_depend_in_one_direction() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("windrow-model", &[] as &[&str]),
        ("windrow-sql", &[]),
        ("windrow-analytics", &["windrow-model", "windrow-results", "windrow-jobfile"]),
        ("windrow-results", &["windrow-model"]),
        ("windrow-wire", &["windrow-model", "windrow-results"]),
        ("windrow-engine", &["windrow-model"]),
        ("windrow-store", &["windrow-model", "windrow-sql"]),
        ("windrow-jobfile", &["windrow-model"]),
        ("windrow-mock", &["windrow-jobfile"]),
        ("windrow-experiment", &["windrow-model", "windrow-jobfile"]),
        ("windrow-operation", &["windrow-model", "windrow-jobfile"]),
        ("windrow-ingest", &["windrow-model", "windrow-jobfile", "windrow-sql"]),
    ]);
    for krate in entries(&crates()) {
        let name = krate.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "windrow" {
            continue;
        }
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} has no place in the layout"));
        let manifest = read_to_string(krate.join("Cargo.toml")).unwrap();
        let needs = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        for line in needs.lines().filter(|line| line.starts_with("windrow-")) {
            let used = line.split(['.', ' ']).next().unwrap();
            assert!(allowed.contains(&used), "{name} must not depend on {used}");
        }
    }
}

#[test]
fn use_cases_know_nothing_of_who_calls_them() {
    let src = crates().join("windrow/src");
    assert!(entries(&src).len() <= 10, "the program has at most ten rooms");
    let graph = graph(&modules(&src), &[]);
    for (room, forbidden) in
        [("app", &["cli", "http", "grpc", "client"][..]), ("node", &["cli", "http", "grpc", "client"])]
    {
        for other in forbidden {
            assert!(!graph[room].contains(*other), "{room} must not name {other}");
        }
    }
    for file in sources(&src.join("app")) {
        let code = code_of(&file);
        let outer = ["axum::", "clap::", "clap("].into_iter().find(|name| code.contains(name));
        assert_eq!(outer, None, "{} names what only translators may", file.display());
    }
}

/// Replaced by the terms of docs/glossary.md; the help texts have a longer list.
const RETIRED: &[&str] = &[
    "anew",
    "afresh",
    "became of",
    "becomes of",
    "came of",
    "by itself",
    "commonest",
    "go on",
    "goes on",
    "looked at",
    "nobody",
    "of its own",
    "once more",
    "so many",
    "somebody",
    "steer",
    "surely",
    "take over",
    "taken over",
    "whoever",
    "at work",
    "is no ",
    "there is no",
    "beside",
    "seal",
    "stands",
];

/// Common words, which a comment may need.
const LOOSE: [&str; 9] =
    ["beside", "by itself", "is no ", "looked at", "of its own", "seal", "so many", "stands", "there is no"];

#[test]
fn retired_words_stay_out_of_comments_and_texts() {
    let program = ["cli", "client", "grpc", "http", "node", "worker"].map(|room| format!("windrow/src/{room}"));
    let strict = ["windrow-model/src", "windrow-wire/src"].map(str::to_owned).into_iter().chain(program);
    let others = ["experiment", "jobfile", "mock", "sql"].map(|krate| format!("windrow-{krate}/src"));
    let few: Vec<&str> = RETIRED.iter().copied().filter(|word| !LOOSE.contains(word)).collect();
    let mut found: Vec<String> = strict.flat_map(|room| retired(&room, RETIRED)).collect();
    found.extend(others.iter().flat_map(|room| retired(room, &few)));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Where the comments and literals of a room have one of the words.
fn retired(room: &str, words: &[&str]) -> Vec<String> {
    let texts = Regex::new(r#"//[/!]? ?(.*)$|"((?:[^"\\]|\\.)*)""#).unwrap();
    let mut found = Vec::new();
    // The list of another test of this kind.
    for file in sources(&crates().join(room)).iter().filter(|file| !file.ends_with("cli/help.rs")) {
        for (no, line) in read_to_string(file).unwrap().lines().enumerate() {
            for text in texts.find_iter(line).map(|text| text.as_str().to_lowercase().replace("{sealed}", "")) {
                let word = words.iter().find(|word| starts_a_word(&text, word));
                found.extend(word.map(|word| format!("{}:{}: {word:?}", file.display(), no + 1)));
            }
        }
    }
    found
}

/// What a person reads: every literal of every crate. The prompts of judges say "stands", and a changed prompt would be
/// another version of the evaluator.
#[test]
fn retired_words_stay_out_of_literals() {
    const MORE: [&str; 7] =
        ["put aside", "turned away", "way back", "be rid of", "what has not", "there are: ", "are in order"];
    const ELSEWHERE: [&str; 2] = ["seal", "stands"];
    let words: Vec<&str> = RETIRED.iter().copied().filter(|word| !ELSEWHERE.contains(word)).chain(MORE).collect();
    let literal = Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)""#).unwrap();
    let folded = Regex::new(r"\\\n\s*").unwrap();
    let (mut found, mut read) = (Vec::new(), 0);
    for file in entries(&crates()).iter().flat_map(|krate| sources(&krate.join("src"))) {
        // The list of another test of this kind.
        if file.ends_with("cli/help.rs") || file.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n").replace("'\"'", "").replace("'\\\"'", "");
        for literal in literal.captures_iter(&code).map(|found| folded.replace_all(&found[1], "").to_lowercase()) {
            read += 1;
            let banned = words.iter().find(|word| starts_a_word(&literal, word));
            found.extend(banned.map(|word| format!("{}: {word:?} in {literal:?}", file.display())));
        }
    }
    assert!(read > 5_000, "only {read} literals were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn starts_a_word(text: &str, word: &str) -> bool {
    text.find(word).is_some_and(|at| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
}

/// The menu of `make` and the table in docs/development.md list every target that a person starts.
#[test]
fn every_make_target_is_documented() {
    const STEPS: [&str; 7] = ["menu", "nextest", "python-env", "promtool", "chromium", "axe", "certify-build"];
    let root = crates().join("..");
    let makefile = read_to_string(root.join("Makefile")).unwrap();
    let page = read_to_string(root.join("docs/development.md")).unwrap();
    let target = Regex::new(r"(?m)^([a-z][a-z-]*):").unwrap();
    let targets: Vec<&str> = target.captures_iter(&makefile).map(|found| found.get(1).unwrap().as_str()).collect();
    assert!(targets.len() > 20, "{targets:?}");
    for name in targets.into_iter().filter(|name| !STEPS.contains(name)) {
        let listed = |text: &str, start: &str| {
            text.lines().any(|line| {
                line.split(start)
                    .nth(1)
                    .is_some_and(|rest| rest.starts_with(name) && !rest[name.len()..].starts_with(['-']))
            })
        };
        assert!(listed(&makefile, "echo \"make "), "the menu lacks make {name}");
        assert!(listed(&page, "| `make "), "docs/development.md lacks make {name}");
    }
}

/// The routes in docs/server.md are those of the API.
#[test]
fn every_route_is_documented() {
    let docs = crates().join("../docs");
    let page = read_to_string(docs.join("server.md")).unwrap();
    let described = read_to_string(docs.join("openapi.json")).unwrap();
    let path = Regex::new(r#"(?m)^    "(/[^"]+)": \{$"#).unwrap();
    let words: BTreeSet<&str> = page.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
    let mut count = 0;
    for found in path.captures_iter(&described) {
        let path = found.get(1).unwrap().as_str();
        let named = path.split('/').rfind(|part| !part.is_empty() && !part.starts_with('{')).unwrap();
        assert!(words.contains(named), "docs/server.md lacks {path}");
        count += 1;
    }
    assert!(count > 80, "only {count} routes were found");
}

/// A schema of the API is found by its name alone: of two types with one name, one would be described as the other.
#[test]
fn every_type_of_the_api_has_a_name_of_its_own() {
    let schema =
        Regex::new(r"ToSchema[^\n]*\)\]\n((?:\s*(?:#\[|//)[^\n]*\n)*)\s*pub(?:\(\w+\))? (?:struct|enum) (\w+)")
            .unwrap();
    let renamed = Regex::new(r"schema\(as = (\w+)\)").unwrap();
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in entries(&crates()).iter().flat_map(|krate| sources(&krate.join("src"))) {
        let text = read_to_string(&file).unwrap();
        for found in schema.captures_iter(&text) {
            let name = renamed.captures(&found[1]).map_or(&found[2], |named| named.get(1).unwrap().as_str()).to_owned();
            places.entry(name).or_default().push(file.display().to_string());
        }
    }
    assert!(places.len() > 50, "the derives are written in another way now: {places:#?}");
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

/// Statements say what they mean. Only placeholders and quotes are looked for in their text.
#[test]
fn no_sql_is_taken_apart_as_text() {
    /// Where text that is not SQL, a placeholder or a quote is looked for, with what is looked for.
    const OTHER: [(&str, &str); 8] = [
        ("backend/address.rs", "url.split_once(\"://\")"),
        ("backend/mysql/address.rs", "replace('`', \"``\")"),
        ("backend/mysql/link.rs", "contains(\"MariaDB\")"),
        ("backend/mysql/migrate.rs", "version.contains("),
        ("backend/mysql/migrate.rs", "replace(\"utf8mb4_nopad_bin\", collation)"),
        ("backend/postgres/cells.rs", "text.replace('\\0'"),
        ("backend/translate.rs", "find("),
        ("sql/verb/requeue.rs", "name.replace('\\'', \"''\")"),
    ];
    let src = crates().join("windrow-store/src");
    let surgery = r#"\.(?:r?split_once|r?find|strip_prefix|strip_suffix)\((?:["'\[&]|\w+\)|is_)|\.replacen?\([^(]*,|\.contains\(""#;
    let surgery = Regex::new(surgery).unwrap();
    let mut found = Vec::new();
    for file in ["backend", "sql", "store"].iter().flat_map(|room| sources(&src.join(room))) {
        let place = file.strip_prefix(&src).unwrap().display().to_string();
        if place.contains("/plans/") || place.contains("/tests/") {
            continue;
        }
        let allowed = |line: &str| OTHER.iter().any(|(file, text)| place == *file && line.contains(text));
        let code = code_of(&file);
        let lines = code.lines().filter(|line| surgery.is_match(line) && !allowed(line));
        found.extend(lines.map(|line| format!("{place}: {}", line.trim())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
