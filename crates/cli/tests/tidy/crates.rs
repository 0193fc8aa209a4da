//! The graph of the crates, from `cargo metadata`, against the one that `ARCHITECTURE.md` has.

use crate::KIT;
use crate::source::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// How the names of our crates begin.
const OURS: &str = "blockmill-";
/// The crate whose name is that of the project.
const FACADE: &str = "blockmill";
/// The block of `ARCHITECTURE.md`: a line for each crate, after those that it depends on.
const BLOCK: (&str, &str) = ("```crates\n", "```");
/// The most crates on a way down from the program.
const DEEPEST: usize = 8;

/// Crates that each crate depends on, by the kind of dependency: a normal one, or one of tests.
struct Graph {
    normal: BTreeMap<String, Vec<String>>,
    of_tests: BTreeMap<String, Vec<String>>,
}

/// The crates in `crates/`, of the manifests.
fn graph() -> Graph {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (mut normal, mut of_tests) = (BTreeMap::new(), BTreeMap::new());
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let manifest = package["manifest_path"].as_str().unwrap();
        let in_crates = |name: &&str| manifest.ends_with(&format!("crates/{name}/Cargo.toml"));
        let Some(name) = of_ours(name).filter(in_crates) else { continue };
        let of_kind = |is_kind: fn(&Value) -> bool| {
            let all = package["dependencies"].as_array().unwrap().iter();
            let names =
                all.filter(|it| is_kind(&it["kind"])).map(|it| it["name"].as_str().unwrap());
            // a crate's tests may ask for its own features
            let ours = names
                .filter(|name| !name.starts_with(KIT))
                .filter_map(|it| of_ours(it).filter(|it| *it != name));
            let mut ours: Vec<_> = ours.map(str::to_owned).collect();
            ours.sort();
            ours.dedup();
            ours
        };
        normal.insert(name.to_owned(), of_kind(|kind| kind.as_str() != Some("dev")));
        of_tests.insert(name.to_owned(), of_kind(|kind| kind.as_str() == Some("dev")));
    }
    assert!(normal.len() > 15, "{} crates", normal.len());
    Graph { normal, of_tests }
}

/// The folder of a crate of ours.
fn of_ours(name: &str) -> Option<&str> {
    if name == FACADE { Some(name) } else { name.strip_prefix(OURS) }
}

/// The lines of the block, each a crate and what it depends on.
fn drawn() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, after) = text.split_once(BLOCK.0).expect("a block of crates");
    let (block, _) = after.split_once(BLOCK.1).unwrap();
    let line = |line: &str| {
        let (name, below) = line.split_once(':').unwrap_or((line, ""));
        let mut below: Vec<_> = below.split_whitespace().map(str::to_owned).collect();
        below.sort();
        (name.trim().to_owned(), below)
    };
    block.lines().map(line).collect()
}

/// The longest way down from a crate.
fn longest(graph: &BTreeMap<String, Vec<String>>, from: &str) -> Vec<String> {
    let below = graph.get(from).into_iter().flatten().map(|name| longest(graph, name));
    let mut way = below.max_by_key(Vec::len).unwrap_or_default();
    way.insert(0, from.to_owned());
    way
}

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    let (graph, drawn) = (graph(), drawn());
    let as_drawn: BTreeMap<_, _> = drawn.iter().cloned().collect();
    for (name, below) in &graph.normal {
        let line = format!("{name}: {}", below.join(" "));
        assert_eq!(as_drawn.get(name), Some(below), "ARCHITECTURE.md, as in Cargo.toml: {line}");
    }
    assert_eq!(as_drawn.len(), graph.normal.len(), "crates that are not there: {as_drawn:?}");
    for (at, (name, below)) in drawn.iter().enumerate() {
        let is_above = |other: &String| drawn[..at].iter().any(|(name, _)| name == other);
        let of_tests = &graph.of_tests[name];
        let wrong: Vec<_> = below.iter().chain(of_tests).filter(|it| !is_above(it)).collect();
        assert!(wrong.is_empty(), "{name} depends on {wrong:?}, which come later");
    }
}

#[test]
fn no_way_down_from_the_program_is_long() {
    let way = longest(&graph().normal, "cli");
    assert!(way.len() <= DEEPEST, "{way:?}");
}

#[test]
fn chains_never_depend_on_each_other() {
    let graph = graph().normal;
    let chains = ["bitcoin", "ethereum", "neo"];
    for name in chains {
        let other = graph[name].iter().find(|below| chains.contains(&&***below));
        assert_eq!(other, None, "{name}");
    }
}

#[test]
fn crates_do_not_need_what_is_not_theirs() {
    let graph = graph().normal;
    for (name, unwanted) in [
        ("store", &["trie", "signatures"][..]),
        ("rlp", &["trie", "signatures"]),
        ("archive", &["store"]),
        // the laboratory is a program of its own
        ("cli", &["bench"]),
        ("python", &["bench"]),
    ] {
        let mut needed = vec![name];
        let mut at = 0;
        while at < needed.len() {
            needed.extend(graph[needed[at]].iter().map(String::as_str));
            at += 1;
        }
        let found = needed.iter().find(|name| unwanted.contains(name));
        assert_eq!(found, None, "{name}");
    }
}
