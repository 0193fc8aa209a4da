//! Tests and witnesses of other producers, in the shapes in which they write them: what is not
//! understood is counted and named, and ends nothing else.

use crate::program::{Ended, Scratch, blockmill, run, succeed_json};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// The answer of a run, with the lines before it as `cases`.
fn test(path: &Path) -> (Value, Ended) {
    test_with("", path)
}

fn test_with(words: &str, path: &Path) -> (Value, Ended) {
    let ended = run(blockmill(&format!("test --json {words}")).arg(path));
    let mut cases = lines(&ended.stdout);
    let mut answer = cases.pop().expect("an answer");
    assert_eq!(answer["command"], "test", "{answer}");
    answer["result"]["cases"] = cases.into();
    (answer, ended)
}

#[blockmill_testkit::needs(cases)]
#[test]
fn state_tests_without_signed_bytes_run_from_their_fields() {
    let folder = blockmill_testkit::case("03-state-test-without-txbytes");
    for (name, passed) in [("add11", 7), ("with-txbytes/statetest1", 1)] {
        let (found, _) = test(&folder.join(format!("{name}.json")));
        let counts = ["passed", "failed", "skipped"].map(|name| found["result"][name].as_u64());
        assert_eq!(counts, [Some(passed), Some(0), Some(0)], "{name}: {found}");
        assert_eq!((&found["status"], &found["exit_code"]), (&"ok".into(), &0.into()));
    }
    // these two state only zeros, as a fuzzer writes them: the root is that of go-ethereum v1.17.10
    for (name, root) in [
        ("statetest", "0xad1024c87b5548e77c937aa50f72b6cb620d278f4dd79bae7f78f71ff75af458"),
        ("statetest1", "0xa2b3391f7a85bf1ad08dc541a1b99da3c591c156351391f26ec88c557ff12134"),
    ] {
        let (found, _) = test(&folder.join(format!("{name}.json")));
        let case = &found["result"]["cases"][0];
        assert_eq!((&case["stateRoot"], &case["pass"]), (&root.into(), &false.into()), "{name}");
        assert_eq!(found["exit_code"], 1);
    }
    // another value gives another root, so that the fields count
    let scratch = Scratch::new("foreign-state-test");
    let (path, mut changed) = (scratch.path("a.json"), read_json(&folder.join("add11.json")));
    changed["add11"]["transaction"]["value"] = serde_json::json!(["0x0186a1"]);
    fs::write(&path, changed.to_string()).expect("a file");
    let (found, _) = test(&path);
    assert_eq!((&found["result"]["failed"], &found["exit_code"]), (&7.into(), &1.into()));
    // the key and the account of the test say the same
    changed["add11"]["transaction"]["value"] = serde_json::json!(["0x0186a0"]);
    changed["add11"]["transaction"].as_object_mut().expect("fields").remove("sender");
    fs::write(&path, changed.to_string()).expect("a file");
    assert_eq!(test(&path).0["result"]["passed"], 7);
}

#[blockmill_testkit::needs(cases)]
#[test]
fn what_a_run_does_not_understand_is_counted_and_the_rest_runs() {
    let folder = blockmill_testkit::case("04-test-folder-aborts");
    let (found, _) = test(&folder.join("S1"));
    let result = &found["result"];
    assert_eq!((&result["skipped"], &result["failed"]), (&1.into(), &0.into()), "{found}");
    assert!(result["passed"].as_u64() > Some(20), "{found}");
    assert_eq!((&found["status"], &found["exit_code"]), (&"incomplete".into(), &3.into()));
    let skipped = result["cases"].as_array().expect("cases").iter();
    let skipped: Vec<_> = skipped.filter(|case| case["pass"].is_null()).collect();
    assert!(skipped[0]["error"].as_str().expect("a reason").contains("genesis"), "{skipped:?}");
    let text = run(blockmill("test").arg(folder.join("S1"))).stdout;
    assert!(text.contains("skip  x (Prague): genesis of Prague: "), "{text}");
    assert!(text.lines().any(|line| line.starts_with("all ") && line.contains("1 not run")));

    for network in fs::read_dir(folder.join("networks")).expect("networks") {
        let path = network.expect("a network").path();
        let (found, _) = test(&path);
        let counts = ["passed", "skipped"].map(|name| found["result"][name].as_u64());
        assert_eq!(counts, [Some(1), Some(0)], "{}: {found}", path.display());
        assert_eq!(found["exit_code"], 0, "{}", path.display());
    }
}

#[test]
fn files_without_a_test_are_not_a_success() {
    let scratch = Scratch::new("foreign-no-tests");
    let folder = scratch.path("tests");
    fs::create_dir_all(folder.join("below")).expect("a folder");
    std::os::unix::fs::symlink(&folder, folder.join("below/loop")).expect("a link");
    for (name, text) in [("a", "{}"), ("b", "[1]"), ("c", "{\"x\": {\"config\": {}}}"), ("d", "{")]
    {
        fs::write(folder.join(format!("{name}.json")), text).expect("a file");
        let (found, _) = test(&folder.join(format!("{name}.json")));
        assert_eq!((&found["status"], &found["exit_code"]), (&"unrecognised".into(), &6.into()));
    }
    let (found, _) = test(&folder);
    assert_eq!((&found["result"]["unread_files"], &found["exit_code"]), (&4.into(), &6.into()));
    // what cannot be reached is named
    std::os::unix::fs::symlink("nowhere", folder.join("below/e.json")).expect("a link");
    let ended = run(blockmill("test").arg(&folder));
    assert!(ended.stdout.contains("e.json: cannot read"), "{}", ended.stdout);
    assert!(ended.stdout.contains("5 not run") && ended.code != Some(0), "{}", ended.stdout);
}

#[blockmill_testkit::needs(cases)]
#[test]
fn bad_files_do_not_end_a_run_and_its_order_is_that_of_the_files() {
    let scratch = Scratch::new("foreign-threads");
    let folder = scratch.path("tests");
    let good = read_json(&blockmill_testkit::case("03-state-test-without-txbytes/add11.json"));
    fs::create_dir_all(&folder).expect("a folder");
    for index in 0..20 {
        let named = serde_json::json!({ format!("test-{index:02}"): good["add11"] });
        fs::write(folder.join(format!("{index:02}.json")), named.to_string()).expect("a file");
    }
    let bad: [(&str, &[u8]); 4] = [
        ("03-bad", b"{\"a\": {\"post\": 1, "),
        ("05-bad", b"\xff\xfe"),
        ("07-bad", b"[]"),
        ("09-bad", b"{\"a\": {\"post\": {\"Cancun\": [{}]}, \"env\": {}, \"pre\": {}}}"),
    ];
    for (name, bytes) in bad {
        fs::write(folder.join(format!("{name}.json")), bytes).expect("a file");
    }
    let (expected, one) = test_with("--threads 1", &folder);
    let result = &expected["result"];
    assert_eq!((&result["passed"], &result["failed"]), (&140.into(), &0.into()), "{expected}");
    assert_eq!((&result["skipped"], &result["unread_files"]), (&1.into(), &3.into()));
    assert_eq!(one.code, Some(3), "{one:?}");
    for threads in ["--threads 2", "--threads 7"] {
        assert_eq!(test_with(threads, &folder).0, expected, "{threads}");
    }
    let files: Vec<_> = result["cases"].as_array().expect("cases").iter().collect();
    assert!(files.is_sorted_by_key(|case| case["file"].as_str()));

    // the text of the filter is in the name and the network of every case that is run
    let (found, _) = test_with("--filter test-07[0/0/0]", &folder);
    assert_eq!((&found["result"]["passed"], &found["status"]), (&7.into(), &"incomplete".into()));
    let ended = run(blockmill("test --filter nothing").arg(folder.join("00.json")));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("no case has \"nothing\""), "{}", ended.stderr);
}

#[blockmill_testkit::needs(cases)]
#[test]
fn results_are_written_as_junit_and_never_over_a_file_by_accident() {
    let scratch = Scratch::new("foreign-junit");
    let out = scratch.path("results.xml");
    let folder = blockmill_testkit::case("04-test-folder-aborts");
    let words = format!("test --junit {}", out.display());
    let ended = run(blockmill(&words).arg(folder.join("S1")));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let text = fs::read_to_string(&out).expect("a file");
    assert!(text.contains("tests=\"24\" failures=\"0\" errors=\"0\" skipped=\"1\">"), "{text}");
    assert_eq!(text.matches("<testcase ").count(), 24);
    let ended = run(blockmill(&words).arg(folder.join("S1")));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(run(blockmill(&format!("{words} --force")).arg(folder.join("S1"))).code, Some(3));
}

#[blockmill_testkit::needs(cases)]
#[test]
fn the_instructions_of_one_case_are_lines_on_standard_error() {
    let file = blockmill_testkit::case("03-state-test-without-txbytes/add11.json");
    let ended = run(blockmill("test --trace").arg(&file));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("expected one case, found 7"), "{}", ended.stderr);

    let (found, ended) = test_with("--trace --filter (Byzantium)", &file);
    assert_eq!(found["result"]["passed"], 1, "{found}");
    let lines: Vec<Value> = lines(&ended.stderr);
    let steps: Vec<_> = lines
        .iter()
        .filter_map(|line| Some((line["pc"].as_u64()?, line["op"].as_u64()?)))
        .collect();
    assert_eq!(steps, [(0, 0x60), (2, 0x60), (4, 1), (5, 0x60), (7, 0x55), (8, 0)]);
    assert_eq!(lines[2]["stack"], serde_json::json!(["0x1", "0x1"]));
    let fields = ["gas", "gasCost", "memSize", "depth", "refund", "opName"];
    let of_store = fields.map(|field| &lines[4][field]);
    let expected = serde_json::json!(["0x5c86c", "0x4e20", 0, 1, 0, "SSTORE"]);
    assert_eq!(serde_json::json!(of_store), expected);
    let root = &found["result"]["cases"][0]["stateRoot"];
    let end = [&lines[6]["output"], &lines[6]["gasUsed"], &lines[7]["stateRoot"]];
    assert_eq!(end, [&"".into(), &"0x4e2c".into(), root]);
    assert_eq!(lines.len(), 8);
}

/// A command that may have a gigabyte of memory.
fn bounded(words: &str, path: &Path) -> Command {
    let program = blockmill("");
    let mut command = Command::new("sh");
    let line = format!("ulimit -v 1500000; exec \"$0\" {words} \"$1\"");
    command.arg("-c").arg(line).arg(program.get_program()).arg(path);
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    command
}

#[test]
fn devices_and_pipes_are_no_files_to_read_as_a_whole() {
    let scratch = Scratch::new("foreign-devices");
    let pipe = scratch.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for (path, what) in [(PathBuf::from("/dev/zero"), "device"), (pipe, "pipe")] {
        for words in ["test", "report", "serve", "verify x --config"] {
            let ended = run(&mut bounded(words, &path));
            assert_eq!(ended.code, Some(if words == "test" { 6 } else { 2 }), "{words}: {ended:?}");
            let text = ended.stdout + &ended.stderr;
            let expected = format!("expected a regular file, found a {what}");
            assert!(text.contains(&expected), "{words}: {text}");
        }
    }
    let ended = run(&mut bounded("witness", Path::new("/dev/zero")));
    assert!(ended.code.is_some_and(|code| code > 1), "{ended:?}");
}

#[test]
fn what_unpacks_to_far_more_than_a_witness_is_refused_soon() {
    let scratch = Scratch::new("foreign-bomb");
    let path = scratch.path("bomb.json.zst");
    let mut text = zstd::Encoder::new(fs::File::create(&path).expect("a file"), 1).expect("zstd");
    let piece = vec![b' '; 1 << 20];
    for _ in 0..1500 {
        std::io::Write::write_all(&mut text, &piece).expect("bytes");
    }
    text.finish().expect("a file");
    let ended = run(&mut bounded("witness", &path));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("bytes when it is unpacked"), "{}", ended.stderr);
}

fn witness(words: &str, files: &[&Path]) -> Ended {
    run(blockmill(&format!("witness {words}")).args(files))
}

#[blockmill_testkit::needs(cases)]
#[test]
fn witnesses_are_read_as_clients_write_them() {
    let folder = blockmill_testkit::case("06-witness-shapes");
    let file = |name: &str| folder.join(name);
    for (name, code, words) in [
        ("own.json", 0, ""),
        ("hexchain.json", 0, ""),
        ("maps.json", 0, ""),
        ("gethheaders.json", 0, ""),
        ("missingnode.json", 3, "lacks the trie node"),
        ("noheaders.json", 3, "lacks the header of the parent block"),
        ("rpc.json", 2, "a witness without its block"),
        ("result.json", 2, "a witness without its block"),
    ] {
        let ended = witness("", &[&file(name)]);
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
    }

    // the block in a second file: digits, an answer of debug_getRawBlock, or bytes
    let scratch = Scratch::new("foreign-witness");
    let block = read_json(&file("own.json"))["block"].as_str().expect("a block").to_owned();
    let answer = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": block }).to_string();
    for (name, bytes) in [
        ("digits", format!("{block}\n").into_bytes()),
        ("answer", answer.into_bytes()),
        ("rlp", blockmill_testkit::hex::decode(&block)),
    ] {
        let path = scratch.path(name);
        fs::write(&path, bytes).expect("a file");
        for name in ["rpc.json", "result.json"] {
            for files in [[&file(name), &path], [&path, &file(name)]] {
                let found = succeed_json(blockmill("witness --chain mainnet").args(files));
                assert_eq!(found[0]["block"], 46_147, "{found}");
            }
        }
        let ended = witness("", &[&path, &file("rpc.json")]);
        assert!(ended.stderr.contains("name it with --chain"), "{ended:?}");
        let ended = witness("--chain mainnet", &[&path]);
        assert!(ended.stderr.contains("a block without a witness"), "{ended:?}");
    }
    let files = [file("1192c3_witness.rlp"), file("1192c3_block.rlp")];
    // this one lacks the account that the transaction calls
    let ended = witness("--chain hoodi", &[&files[0], &files[1]]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("lacks the trie node 0x7e224bab"), "{}", ended.stderr);
    assert!(ended.stderr.contains("go-ethereum accepts this witness"), "{}", ended.stderr);
    let ended = witness("--lenient --chain hoodi", &[&files[0], &files[1]]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = "incomplete     1 trie node missing, such as 0x7e224bab";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    // where a value matters, nothing is not as good
    for name in ["missingnode.json", "noheaders.json"] {
        let ended = witness("--lenient", &[&file(name)]);
        assert_eq!(ended.code, Some(3), "{name}: {ended:?}");
        assert!(!ended.stderr.contains("go-ethereum accepts"), "{}", ended.stderr);
    }
    // a witness of another block
    let ended = witness("--chain mainnet", &[&file("rpc.json"), &file("1192c3_block.rlp")]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

#[blockmill_testkit::needs(cases)]
#[test]
fn a_witness_that_says_another_hash_or_number_than_its_block_is_refused() {
    let scratch = Scratch::new("foreign-witness-stated");
    let path = scratch.path("changed.json");
    let own = read_json(&blockmill_testkit::case("06-witness-shapes/own.json"));
    let hash = own["hash"].as_str().expect("a hash").replace("0x4e", "0x4f");
    for (field, value) in [("number", Value::from(46_148)), ("hash", Value::from(hash))] {
        let mut changed = own.clone();
        changed[field] = value;
        fs::write(&path, changed.to_string()).expect("a file");
        let ended = witness("", &[&path]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.stderr.contains(&format!("the file says {field} ")), "{}", ended.stderr);
    }
}

/// The number of a block, or exit code and words.
type Expected = Result<u64, (i32, &'static str)>;

/// What each file of a client gives with these arguments.
const NATIVE: [(&str, &str, Expected); 9] = [
    ("ethrex-560048-1041734.json.zst", "", Ok(1_041_734)),
    ("keth-1-21688509.json.zst", "", Ok(21_688_509)),
    ("zeth-1-1150000.json.gz", "--chain mainnet", Ok(1_150_000)),
    ("zeth-1-2675000.json.gz", "--chain mainnet", Ok(2_675_000)),
    ("zeth-1-2675000.json.gz", "", Err((2, "name it with --chain"))),
    ("sbv-1-1.json.zst", "", Err((6, "a trace of a Scroll block"))),
    ("sbv-17000-2965788-block.json.zst", "", Err((2, "a block without a witness"))),
    ("ethrex-560048-1145479.bin.zst", "", Err((6, "neither JSON nor RLP"))),
    ("test_block_witness-ddf5.json.zst", "", Err((2, "a witness without its block"))),
];

#[blockmill_testkit::needs(fixtures)]
#[test]
fn files_of_clients_and_provers_run_or_are_named() {
    let folder = blockmill_testkit::fixture("ethereum/witness-native");
    for (name, words, expected) in NATIVE {
        let file = folder.join(name);
        match expected {
            Ok(number) => {
                let found = succeed_json(blockmill(&format!("witness {words}")).arg(&file));
                assert_eq!(found[0]["block"], number, "{name}: {found}");
            }
            Err((code, text)) => {
                let ended = witness(words, &[&file]);
                assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
                assert!(ended.stderr.contains(text), "{name}: {}", ended.stderr);
            }
        }
    }
    // a block in JSON, and a witness of older reth, which has no headers
    let [block, other] =
        ["block", "witness"].map(|part| folder.join(format!("sbv-17000-2965788-{part}.json.zst")));
    let ended = witness("--chain holesky", &[&other, &block]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("the header of the parent block"), "{}", ended.stderr);
}

/// The lines of a run, without the times of a witness.
fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a document in a line"));
    lines
        .map(|mut line: Value| {
            for name in ["decode_ms", "execute_ms"] {
                if let Some(time) = line.get_mut(name) {
                    time.take();
                }
            }
            line
        })
        .collect()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_folder_gives_a_line_a_block_in_one_order_whatever_the_threads() {
    let folder = blockmill_testkit::fixture("ethereum/witness");
    let one = run(blockmill("witness --json --threads 1").arg(&folder));
    let mut expected = lines(&one.stdout);
    let end = expected.pop().expect("a summary");
    assert_eq!((&end["status"], &end["result"]["blocks"]), (&"ok".into(), &22.into()), "{end}");
    assert_eq!(expected.len(), 22);
    let gas: u64 = expected.iter().filter_map(|line| line["gas_used"].as_u64()).sum();
    assert_eq!(end["result"]["gas_used"], gas);
    for threads in [2, 5] {
        let words = format!("witness --json --threads {threads}");
        let mut found = lines(&run(blockmill(&words).arg(&folder)).stdout);
        found.pop();
        assert_eq!(found, expected, "{threads} threads");
    }
    let text = run(blockmill("witness").arg(&folder)).stdout;
    assert!(text.lines().any(|line| line == "blocks         22 right of 22"), "{text}");
    assert!(text.contains("Mgas/s") && text.contains("p99"), "{text}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn what_fails_in_a_folder_is_a_line_and_ends_nothing_else() {
    let folder = blockmill_testkit::fixture("ethereum/witness-native");
    let ended = run(blockmill("witness --json").arg(&folder));
    let mut found = lines(&ended.stdout);
    let end = found.pop().expect("a summary");
    // one lacks its block; others do not say their chain, or are of a shape that is not read
    assert_eq!((&end["status"], ended.code), (&"incomplete".into(), Some(3)), "{end}");
    let failures = serde_json::json!({ "incomplete": 1, "unrecognised": 5 });
    assert_eq!((&end["result"]["blocks"], &end["result"]["failures"]), (&2.into(), &failures));
    let paired = found.iter().filter(|line| line["file"].to_string().contains("sbv-17000"));
    assert_eq!(paired.count(), 1, "{found:?}");

    let scratch = Scratch::new("foreign-witness-folder");
    let empty = scratch.path("empty");
    fs::create_dir_all(&empty).expect("a folder");
    fs::write(empty.join("README.md"), "text").expect("a file");
    let ended = run(blockmill("witness").arg(&empty));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("*.json"), "{}", ended.stderr);
}
