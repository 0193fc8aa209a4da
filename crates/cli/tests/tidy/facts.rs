//! Facts of run records are documented: each name that the code gives one is in
//! `docs/formats/run-record.md`.

use crate::source::{root, sources};
use std::fs;

/// The names that a line gives to facts, as in `facts.set("wall_s", ...)`.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let calls = ["facts.set(\"", "facts.count(\""];
    calls.into_iter().flat_map(|call| line.split(call).skip(1)).filter_map(|rest| {
        let (name, _) = rest.split_once('"')?;
        Some(name)
    })
}

#[test]
fn facts_of_run_records_are_documented() {
    let page = fs::read_to_string(root().join("docs/formats/run-record.md")).unwrap();
    let (mut count, mut missing) = (0, vec![]);
    for source in sources() {
        let lines = source.lines.iter().zip(&source.for_tests);
        for name in lines.filter(|(_, tests)| !**tests).flat_map(|(line, _)| names(line)) {
            count += 1;
            if !page.contains(&format!("`{name}`")) {
                missing.push(format!("{}: {name}", source.path));
            }
        }
    }
    assert!(count > 30, "found {count} names");
    assert!(missing.is_empty(), "not in docs/formats/run-record.md:\n{}", missing.join("\n"));
}

#[test]
fn names_are_literals_of_calls() {
    let line = r#"record.facts.set("a_s", 1.0); facts.count("b", 2); facts.value("c")"#;
    assert_eq!(names(line).collect::<Vec<_>>(), ["a_s", "b"]);
}
