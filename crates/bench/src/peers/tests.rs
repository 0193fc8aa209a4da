//! Tests with small peers that are shell scripts, and with the names of the real ones.

use super::*;

use blockmill_pipeline::record::{CHECK_VERIFY, CHUNK, WALL_S};
use std::fs;

const HAS_TOOL: &str = r#"["echo", "tool version 1.26"]"#;

/// A peer that is a shell script, "built" by copying it. `tool` is the command that prints the
/// version of its tool.
fn scripted(folder: &Path, script: &str, tool: &str) -> Peer {
    fs::create_dir_all(folder.join("benchmarks/peer")).unwrap();
    fs::write(folder.join("benchmarks/peer/peer.sh"), format!("#!/bin/sh\n{script}")).unwrap();
    let text = format!(
        r#"
        [tools.tool]
        version = {tool}
        at_least = "1.25"
        install = "install Tool 1.25 or newer"
        [[peer]]
        name = "peer-1"
        label = "peer 1"
        client = "peer"
        version = "v1"
        folder = "peer"
        needs = ["tool"]
        build = ["cp", "peer.sh", "{{target}}"]
        program = "peer.sh"
        run = ["sh", "{{program}}", "{{headers}}", "{{folder}}"]
        checks = "nothing"
        "#
    );
    let peers_toml = folder.join("benchmarks/peers.toml");
    fs::write(&peers_toml, text).unwrap();
    let mut peer = load(&peers_toml).unwrap().remove(0);
    peer.build.home = folder.join("home"); // whatever the environment says
    peer
}

fn run(script: &str) -> Result<RunRecord> {
    let folder = tempfile::tempdir().unwrap();
    let ready = scripted(folder.path(), script, HAS_TOOL).prepare().unwrap();
    let settings = Settings::from([("headers".to_owned(), "3000".to_owned())]);
    ready.run(&settings, &folder.path().join("run"))
}

/// A script that prints `line`.
fn prints(line: &str) -> String {
    let line: String = line.lines().map(str::trim).collect();
    format!("cat <<END\n{line}\nEND\n")
}

#[test]
fn the_peers_of_this_repository_load() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/peers.toml");
    for peer in load(&path).unwrap() {
        assert!(peer.build.source.is_dir(), "{}", peer.build.source.display());
        assert!(peer.entry.run.contains(&"{program}".to_owned()), "{}", peer.name());
    }
}

#[cfg(unix)]
#[test]
fn a_peer_gets_its_settings_and_gives_a_record() {
    let record = run(&prints(
        r#"{"version":"v1,go1.26","facts":{"wall_s":10,"headers":$1},
        "series":[{"row":"chunk","columns":[{"name":"first","unit":"block","values":[1,2049]},
        {"name":"check: verify","unit":"s","values":[1,2]}]}],
        "tip":{"number":3000,"hash":"0x05"},"answer":{"coins":"7"},"notes":["checked"]}"#,
    ))
    .unwrap();
    assert_eq!((record.label.as_str(), record.program.version.as_str()), ("peer 1", "v1,go1.26"));
    assert_eq!((record.wall_s(), record.facts.count_of("headers")), (10.0, 3000));
    assert_eq!(record.phases(), [CHECK_VERIFY], "the number of a block is no measurement");
    assert_eq!(record.busy_s(CHECK_VERIFY), 3.0);
    let chunks = record.series(CHUNK).unwrap();
    assert_eq!(chunks.column(CHECK_VERIFY).unwrap().percentiles.unwrap().max, 2.0);
    assert_eq!(record.answers()["tip_hash"], "0x05");
    assert_eq!(record.notes, ["checked", "nothing"]);
    assert!(record.command[3].ends_with("run/peer"), "{:?}", record.command);
}

#[cfg(unix)]
#[test]
fn a_peer_that_fails_or_prints_something_else_is_an_error() {
    let line = |text: &str| prints(&format!(r#"{{"version":"v1",{text}}}"#));
    for (script, expected) in [
        ("echo hello".to_owned(), "not a measured run"),
        ("echo why >&2; exit 2".to_owned(), "why"),
        (line(r#""error":"header7""#) + "exit 1", "header7"),
        (line(r#""facts":{}"#), "has no facts"),
        (line(r#""fact":{}"#), "not a measured run"),
        (prints(r#"{"version":"v2","facts":{"wall_s":1}}"#), "\"v2\" ran instead of \"v1\""),
    ] {
        let error = format!("{:#}", run(&script).unwrap_err());
        assert!(error.contains(expected), "{script}: {error}");
    }
    let record = run(&line(r#""facts":{"wall_s":1}"#)).unwrap();
    assert_eq!(record.facts.get(WALL_S), Some(1.0));
}

#[test]
fn a_peer_that_cannot_be_built_is_left_out_with_the_reason() {
    let error = |tool: &str| {
        let folder = tempfile::tempdir().unwrap();
        scripted(folder.path(), "", tool).prepare().unwrap_err().to_string()
    };
    let (left_out, install) = ("peer peer-1 left out", "(install Tool 1.25 or newer)");
    assert_eq!(
        error(r#"["blockmill-no-such-tool", "version"]"#),
        format!("{left_out}: no `tool` on this machine {install}")
    );
    assert_eq!(
        error(r#"["echo", "tool version tool1.24.9"]"#),
        format!("{left_out}: `tool` is version 1.24 {install}")
    );
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted(folder.path(), "", HAS_TOOL);
    fs::remove_file(folder.path().join("benchmarks/peer/peer.sh")).unwrap();
    let error = peer.prepare().unwrap_err().to_string();
    assert!(error.contains("`cp peer.sh") && error.contains("failed: "), "{error}");
}
