//! Tests with small peers made of a shell script, and with the real ones where they are built.

use super::programs::Peers;
use super::*;

use pipeline::record::{VALIDATION, WRITE};

const HASH: &str = "0x05c64fc4842734317f8f1dfe29a7e16f676575ad82a7dae37cef1379cf8500b5";

/// The `engines.toml` of this repository.
fn real_engines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/engines.toml")
}

/// An `engines.toml` with one peer: a shell script, "built" by copying it. `tool` is the command
/// that tells the version of what it needs.
fn scripted(folder: &Path, script: &str, tool: &str) -> Peer {
    fs::create_dir_all(folder.join("benchmarks/peer")).unwrap();
    fs::write(folder.join("benchmarks/peer/peer.sh"), script).unwrap();
    let text = format!(
        r#"
        [tools.tool]
        version = {tool}
        at_least = "1.25"
        install = "install Tool 1.25 or newer"
        [[engine]]
        name = "peer-1"
        label = "peer 1"
        client = "peer"
        version = "v1"
        folder = "peer"
        needs = ["tool"]
        build = ["cp", "peer.sh", "{{program}}"]
        run = ["sh", "{{program}}", "{{chunk}}", "{{dir}}"]
        seals = ["{{caches}}", "{{freq}}"]
        era1 = ["-era", "{{paths}}"]
        stream = ["-stream", "{{paths}}"]
        checks = "nothing"
        "#
    );
    let engines = folder.join("benchmarks/engines.toml");
    fs::write(&engines, text).unwrap();
    let mut peers = load(&engines).unwrap();
    assert_eq!(peers.len(), 1);
    let mut peer = peers.remove(0);
    peer.workshop.home = folder.join("home"); // whatever the environment says
    peer
}

const HAS_TOOL: &str = r#"["echo", "tool version 1.26"]"#;

/// A script that prints a run of 3,000 headers, with the frequency that it was given.
fn run_line(hash: &str) -> String {
    let line = format!(
        r#"{{"client":"v1","go":"go1.26","db":"leveldb","chunk":2048,"freq":$4,"headers":3000,
        "open_s":0.5,"cache_warm_s":0.25,"decode_s":0.3,"validate_s":3,"write_s":5,"close_s":0.1,
        "whole_s":8.3,"wall_s":10,"cpu_user_s":7,"cpu_sys_s":2,"peak_rss_bytes":99000000,
        "head":3000,"head_hash":"{hash}","chunks":[
        {{"first":1,"count":2048,"decode_s":0.1,"validate_s":1,"write_s":2,"end_s":4}},
        {{"first":2049,"count":952,"decode_s":0.2,"validate_s":2,"write_s":3,"end_s":9}}]}}"#
    );
    format!("cat <<END\n{}\nEND\n", line.replace(['\n', ' '], ""))
}

fn input(folder: &Path) -> Input {
    let path = folder.join("headers.rlp");
    fs::write(&path, [0xc0; 11]).unwrap();
    Input::Stream(path)
}

#[test]
fn the_engines_of_this_repository_load() {
    let peers = load(&real_engines()).unwrap();
    let names: Vec<&str> = peers.iter().map(Peer::name).collect();
    assert_eq!(names[0], "geth-v1.17.10");
    for (name, seals) in [("geth-v1.17.10", false), ("geth-v1.11.6", true), ("geth-v1.9.20", true)]
    {
        let peer = peers.iter().find(|peer| peer.name() == name).unwrap();
        assert_eq!(peer.checks_seals(), seals, "{name}");
        let source = &peer.workshop.source;
        assert!(source.join("go.mod").is_file(), "{}", source.display());
    }
}

#[test]
fn the_peers_of_bench_rlp_and_of_bench_store_load() {
    let peers = Peers::Rlp.load(&real_engines()).unwrap();
    let names: Vec<&str> = peers.iter().map(programs::ProgramPeer::name).collect();
    assert_eq!(names, ["alloy", "alloy-asm", "geth"]);
    let stores = Peers::Store.load(&real_engines()).unwrap();
    let names: Vec<&str> = stores.iter().map(programs::ProgramPeer::name).collect();
    assert_eq!(names, ["rocksdb", "fjall", "redb", "lmdb"]);
}

/// A peer of `bench rlp` that is a shell script, "built" by copying it.
fn scripted_writer(folder: &Path, script: &str, tool: &str) -> programs::ProgramPeer {
    fs::create_dir_all(folder.join("benchmarks/peer")).unwrap();
    fs::write(folder.join("benchmarks/peer/peer.sh"), format!("#!/bin/sh\n{script}")).unwrap();
    let text = format!(
        r#"
        engine = []
        [tools.tool]
        version = {tool}
        at_least = "1.25"
        install = "install Tool 1.25 or newer"
        [[rlp]]
        name = "peer"
        label = "peer 1"
        client = "peers"
        version = "v1"
        folder = "peer"
        needs = ["tool"]
        build = ["install", "-m", "755", "peer.sh", "{{target}}"]
        program = "peer.sh"
        "#
    );
    let engines = folder.join("benchmarks/engines.toml");
    fs::write(&engines, text).unwrap();
    let mut peer = Peers::Rlp.load(&engines).unwrap().remove(0);
    peer.workshop.home = folder.join("home"); // whatever the environment says
    peer
}

/// What `bench rlp` gives to a peer.
fn arguments(case: &str, op: &str) -> [(&'static str, String); 4] {
    [("-case", case.into()), ("-op", op.into()), ("-samples", "2".into()), ("-min-ms", "7".into())]
}

#[cfg(unix)]
#[test]
fn a_writer_gets_case_and_operation_and_gives_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"cat <<END
{"engine":"peer","version":"v1, sh","case":"$2","op":"$4","bytes":$6,"digest":"0x","first_ns":$8,
"samples_ns":[1,2.5],"iterations":1,"allocations":0.5,"allocated_bytes":0,"first_page_faults":3,
"page_faults":0,"peak_rss_kb":4}
END"#;
    let ready = scripted_writer(folder.path(), &script.replace(",\n", ","), HAS_TOOL);
    let ready = ready.prepare().unwrap();
    let line = ready.measure(&arguments("block-8", "hash-reused")).unwrap();
    assert_eq!((line.case.as_str(), line.op.as_str()), ("block-8", "hash-reused"));
    assert_eq!((line.bytes, line.first_ns, line.samples_ns), (2, 7, vec![1.0, 2.5]));
    assert_eq!(ready.engine().client, "peers");
}

#[cfg(unix)]
#[test]
fn a_writer_that_fails_or_prints_something_else_is_an_error() {
    let line = r#"{"engine":"peer","version":"v2","case":"header","op":"hash","bytes":1,
"digest":"","first_ns":1,"samples_ns":[SAMPLES],"iterations":1,"allocations":0,
"allocated_bytes":0,"first_page_faults":0,"page_faults":0,"peak_rss_kb":0}"#;
    let line = format!("echo '{}'", line.replace('\n', ""));
    for (script, expected) in [
        ("echo hello".to_owned(), "not a measurement"),
        ("echo why >&2; exit 2".to_owned(), "why"),
        (line.replace("SAMPLES", ""), "no usable samples"),
        (line.replace("SAMPLES", "-1"), "no usable samples"),
        (line.replace("SAMPLES", "1"), "v2 ran instead of v1"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ready = scripted_writer(folder.path(), &script, HAS_TOOL).prepare().unwrap();
        let error = ready.measure(&arguments("header", "hash")).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{script}: {error:#}");
    }
}

#[test]
fn a_writer_without_its_tool_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted_writer(folder.path(), "", r#"["blockmill-no-such-tool", "version"]"#);
    assert_eq!(
        peer.prepare().unwrap_err().to_string(),
        "peer peer left out: no `tool` on this machine (install Tool 1.25 or newer)"
    );
}

#[test]
fn a_missing_tool_leaves_the_peer_out() {
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted(folder.path(), "", r#"["blockmill-no-such-tool", "version"]"#);
    assert_eq!(
        peer.prepare().unwrap_err().to_string(),
        "peer peer-1 left out: no `tool` on this machine (install Tool 1.25 or newer)"
    );
}

#[test]
fn an_old_tool_leaves_the_peer_out() {
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted(folder.path(), "", r#"["echo", "tool version tool1.24.9"]"#);
    assert_eq!(
        peer.prepare().unwrap_err().reason,
        "`tool` is version 1.24 (install Tool 1.25 or newer)"
    );
}

#[test]
fn a_failed_build_leaves_the_peer_out() {
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted(folder.path(), "", HAS_TOOL);
    fs::remove_file(folder.path().join("benchmarks/peer/peer.sh")).unwrap();
    let reason = peer.prepare().unwrap_err().reason;
    assert!(reason.starts_with("`cp peer.sh ") && reason.contains("failed: "), "{reason}");
}

#[test]
fn a_run_becomes_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let peer = scripted(folder.path(), &run_line(HASH), HAS_TOOL);
    let ready = peer.prepare().unwrap();
    let record = ready.import_headers(&input(folder.path()), 100, 2048).unwrap();
    assert_eq!((record.label.as_str(), record.program.version.as_str()), ("peer 1", "v1"));
    assert_eq!((record.data.format.as_str(), record.data.bytes), ("headers", 11));
    assert_eq!((record.data.first, record.data.last, record.data.blocks), (1, 3000, 3000));
    assert_eq!((record.result.tip_number, record.result.tip_hash.as_str()), (3000, HASH));
    let totals = &record.totals;
    assert_eq!((totals.wall_s, totals.setup_s, record.busy_s(VALIDATION)), (10.0, 0.75, 3.0));
    assert_eq!((record.busy_s(WRITE), totals.blocks_per_s), (5.0, 300.0));
    assert_eq!(totals.peak_rss_bytes, 99_000_000);
    assert_eq!(record.chunks.len(), 2);
    assert_eq!((record.chunks[1].first, record.chunks[1].end_s), (2049, 9.0));
    let seal = record.seal.unwrap();
    assert_eq!((seal.mode.as_str(), seal.checked), ("1/100", 20 + 9));
    // The command as it ran, and nothing left of its database.
    assert_eq!(record.command[2], "2048");
    assert!(!Path::new(&record.command[3]).exists());
    assert_eq!(fs::read_dir(folder.path().join("home/runs")).unwrap().count(), 0);
}

#[test]
fn a_rejected_header_is_reported_with_the_reason_of_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"echo '{"client":"v1","error":"invalid nonce","index":17,"stage":"validate"}'
        exit 1"#;
    let ready = scripted(folder.path(), script, HAS_TOOL).prepare().unwrap();
    let error = ready.import_headers(&input(folder.path()), 1, 2048).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "peer 1: validate stopped at header 17 of the input: invalid nonce"
    );
}

#[test]
fn output_that_is_not_a_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let wrong_hash = run_line("0x1234");
    let other_version = run_line(HASH).replace("\"v1\"", "\"v2\"");
    let fewer_headers = run_line(HASH).replace("3000", "2999");
    let cases = [
        ("echo hello", "not a measured run"),
        ("echo nothing to say >&2; exit 2", "nothing to say"),
        (wrong_hash.as_str(), "is not a block hash"),
        (other_version.as_str(), "v2 ran instead of v1"),
        (fewer_headers.as_str(), "2999 headers, 3000 in its chunks"),
    ];
    for (script, expected) in cases {
        let ready = scripted(folder.path(), script, HAS_TOOL).prepare().unwrap();
        let error = ready.import_headers(&input(folder.path()), 0, 2048).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{script}: {error:#}");
    }
}

#[test]
fn a_path_with_a_comma_is_refused() {
    let paths = [PathBuf::from("a.era1"), PathBuf::from("b,c.era1")];
    assert_eq!(joined(&paths[..1]).unwrap(), "a.era1");
    assert!(joined(&paths).unwrap_err().to_string().contains("b,c.era1"));
}

/// Every engine imports the first 16,383 headers of the main network. It runs where the peers are
/// kept built ([`PEERS_DIR`] is set), because a first build takes minutes.
#[testkit::needs(fixtures, peers)]
#[test]
fn real_peers_end_at_the_same_head() {
    let era1 = testkit::fixture("ethereum/era1");
    let names = ["mainnet-00000-5ec1ffb8.era1", "mainnet-00001-a5364e9a.era1"];
    let input = Input::Era1(names.iter().map(|name| era1.join(name)).collect());
    for peer in load(&real_engines()).unwrap() {
        let ready = peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}"));
        let record = ready.import_headers(&input, 100, 2048).unwrap();
        assert_eq!((record.result.tip_number, record.result.tip_hash.as_str()), (16383, HASH));
        assert_eq!((record.data.blocks, record.chunks.len()), (16383, 8));
        assert_eq!(record.seal.is_some(), peer.checks_seals());
        let totals = &record.totals;
        let [decode_s, validate_s, write_s] =
            ["decode", VALIDATION, WRITE].map(|p| record.busy_s(p));
        println!(
            "{}: wall {:.3} s = decode {:.3} + validate {:.3} + write {:.3}, peak {} MiB",
            record.label,
            totals.wall_s,
            decode_s,
            validate_s,
            write_s,
            totals.peak_rss_bytes >> 20
        );
        assert!(decode_s + validate_s + write_s <= totals.wall_s);
    }
}

#[test]
fn the_peers_of_bench_reindex_load() {
    let peers = blocks::load(&real_engines()).unwrap();
    let names: Vec<&str> = peers.iter().map(blocks::BlockPeer::name).collect();
    assert_eq!(names, ["bitcoin-core"]);
    for peer in peers {
        assert!(peer.workshop.source.join("README.md").is_file(), "{}", peer.name());
    }
}

/// A peer of `bench reindex`, likewise.
fn scripted_blocks(folder: &Path, script: &str) -> blocks::BlockPeer {
    fs::create_dir_all(folder.join("benchmarks/peer")).unwrap();
    fs::write(folder.join("benchmarks/peer/peer.sh"), format!("#!/bin/sh\n{script}\n")).unwrap();
    let text = r#"
        engine = []
        [[bitcoin]]
        name = "peer"
        label = "peer 1"
        client = "peers"
        version = "v1"
        folder = "peer"
        needs = []
        build = ["install", "-m", "755", "peer.sh", "{target}"]
        program = "peer.sh"
        "#;
    let engines = folder.join("benchmarks/engines.toml");
    fs::write(&engines, text).unwrap();
    let mut peer = blocks::load(&engines).unwrap().remove(0);
    peer.workshop.home = folder.join("home"); // whatever the environment says
    peer
}

/// What a peer prints after `reindex`, and after `utxo`.
fn reindex_script() -> String {
    let (tip, coins) = (&HASH[2..], "ab".repeat(32));
    format!(
        r#"case $1 in
        reindex) mkdir -p "$4" && echo '{{"mode":"reindex","version":"v1","files":2,"bytes":11,
"height":7,"tip":"{tip}","open_s":0.5,"load_s":1,"connect_s":2,"flush_s":0.25,"total_s":3.75,
"peak_memory_kib":99000}}' | tr -d '\n' ;;
        utxo) test -d "$3" && echo '{{"tip":"{tip}","coins":5,"hash_serialized_3":"{coins}"}}' ;;
        esac"#
    )
}

fn job(blocks: &Path) -> blocks::Job<'_> {
    let assume_valid = Some("00ff");
    let (threads, cache) = (2, 300);
    blocks::Job { blocks, chain: "mainnet", threads, cache, assume_valid, cold: true, digest: true }
}

#[cfg(unix)]
#[test]
fn a_reindex_becomes_a_record_with_the_coins() {
    let folder = tempfile::tempdir().unwrap();
    let ready = scripted_blocks(folder.path(), &reindex_script()).prepare().unwrap();
    let record = ready.reindex(&job(folder.path())).unwrap();
    assert_eq!((record.label.as_str(), record.program.name.as_str()), ("peer 1", "peers"));
    assert_eq!((record.result.tip_number, record.result.tip_hash.as_str()), (7, &HASH[2..]));
    assert_eq!((record.totals.wall_s, record.totals.peak_rss_bytes), (3.75, 99_000 * 1024));
    let reindex = record.reindex.unwrap();
    assert_eq!((reindex.index_s, reindex.connect_s, reindex.commit_s), (1.0, 2.25, 0.25));
    assert_eq!((reindex.coins, reindex.coins_hash), (5, "ab".repeat(32)));
    let names: Vec<_> = record.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(names, ["open", "load", "connect", "close"]);
    // the thread that connects checks scripts, too
    let line = record.command.join(" ");
    assert!(line.contains(" --chain main --threads 1 --cache 300 --assume-valid 00ff --cold "));
    assert!(!Path::new(&record.command[4]).exists());
}

#[cfg(unix)]
#[test]
fn a_reindex_that_fails_or_contradicts_itself_is_an_error() {
    let good = reindex_script();
    let cases = [
        ("echo hello".to_owned(), "not a measured run"),
        ("echo bad-txns >&2; exit 1".to_owned(), "bad-txns"),
        (good.replace("\"v1\"", "\"v2\""), "v2 ran instead of v1"),
        (good.replacen(&HASH[2..], "12", 1), "is not a block hash"),
        (good.replacen("utxo) test", "utxo) exit 3; test", 1), "its coins"),
        (good.replace("{\"tip\":\"05", "{\"tip\":\"06"), "its coins are those of 06"),
    ];
    for (script, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let ready = scripted_blocks(folder.path(), &script).prepare().unwrap();
        let error = ready.reindex(&job(folder.path())).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{script}: {error:#}");
    }
}

/// Bitcoin Core reindexes the first blocks of the main network. It runs where the peers are kept
/// built ([`PEERS_DIR`] is set), because a first build takes minutes.
#[testkit::needs(fixtures, peers)]
#[test]
fn bitcoin_core_ends_with_the_known_coins() {
    let blocks = testkit::fixture("bitcoin/mainnet-0-4521.dat");
    for peer in blocks::load(&real_engines()).unwrap() {
        let ready = peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}"));
        let job = blocks::Job { assume_valid: None, ..job(&blocks) };
        let record = ready.reindex(&job).unwrap();
        assert_eq!(record.result.tip_number, 4521);
        let reindex = record.reindex.unwrap();
        assert_eq!((reindex.files, reindex.coins_hash.len()), (1, 64));
        println!("{}: {:.3} s, {} coins", record.label, record.totals.wall_s, reindex.coins);
    }
}
