//! State dumps of clients: `import --state` and `convert --to state-jsonl`.

use crate::program::{Scratch, blockmill, misunderstand, run, succeed, succeed_json, tip_of};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A chain of 30 blocks, a store of all of them, and the state after block 17.
struct Chain {
    folder: PathBuf,
    whole: PathBuf,
    dump: PathBuf,
}

/// What a run's record says of the state after its last block.
fn state_root(record: &Value) -> &str {
    record["answer"]["state_root"].as_str().expect("a state root")
}

impl Chain {
    fn new(scratch: &Scratch) -> Self {
        let [folder, whole, dump] = ["chain", "whole", "dump"].map(|name| scratch.path(name));
        let words =
            "generate ethereum --work mixed --blocks 30 --block-transactions 8 --accounts 20";
        succeed(blockmill(words).arg("--out").arg(&folder));
        let chain = Self { folder, whole, dump };
        succeed(&mut chain.import(&chain.whole, ""));
        succeed(&mut convert(&chain.whole, &chain.dump, "--until 17"));
        chain
    }

    fn genesis(&self) -> String {
        format!("--chain {}", self.folder.join("genesis.json").display())
    }

    fn blocks(&self) -> PathBuf {
        self.folder.join("chain.rlp")
    }

    fn import(&self, store: &Path, flags: &str) -> Command {
        let mut command = blockmill(&format!("import {flags} {} --data", self.genesis()));
        command.arg(store).arg(self.blocks());
        command
    }

    /// An import of a dump into a new store, with blocks 9 to 17.
    fn begin(&self, store: &Path, dump: &Path, flags: &str) -> Command {
        let words = format!("import {flags} {} --from 9 --data", self.genesis());
        let mut command = blockmill(&words);
        command.arg(store).arg("--block").arg(self.blocks()).arg("--state").arg(dump);
        command
    }
}

fn convert(store: &Path, out: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("convert --to state-jsonl {flags} --force --out"));
    command.arg(out).arg(store);
    command
}

#[test]
fn blocks_continue_from_a_dump() {
    let scratch = Scratch::new("state-dumps");
    let chain = Chain::new(&scratch);
    let expected = succeed_json(&mut chain.import(&scratch.path("again"), ""));
    for state in ["memory", "pages", "flat+trie"] {
        let [store, again] = ["", "-again"].map(|name| scratch.path(&format!("{state}{name}")));
        let with = format!("--with state={state} --cache 1");
        let begun = succeed_json(&mut chain.begin(&store, &chain.dump, &with));
        assert_eq!((&begun["state"], &begun["block"]), (&state.into(), &17.into()));
        assert_eq!((&begun["first_block"], tip_of(&store)), (&9.into(), Some(17)));
        assert!(begun["accounts"].as_u64() > Some(20) && begun["slots"].as_u64() > Some(10));
        assert!(succeed(blockmill("check").arg(&store)).contains("No corruption: "));
        let record = succeed_json(&mut chain.import(&store, &with));
        assert_eq!(record["level"], "execution");
        assert_eq!((state_root(&record), tip_of(&store)), (state_root(&expected), Some(30)));
        // a state on disk has hashes only, which is a dump as well
        succeed(&mut convert(&store, &again, ""));
        let hashed = scratch.path("hashed");
        let begin = |store: &Path, state: &str| {
            let words = format!("import {} --with state={state} --data", chain.genesis());
            let mut command = blockmill(&words);
            command.arg(store).arg("--block").arg(chain.blocks()).arg("--state").arg(&again);
            command
        };
        let other = if state == "pages" { "flat+trie" } else { "pages" };
        let begun = succeed_json(&mut begin(&hashed, other));
        assert_eq!(begun["block"], 30);
        assert_eq!(begun["without_address"].as_u64() > Some(0), state != "memory");
        let [first, second] = ["first", "second"].map(|name| scratch.path(name));
        succeed(&mut convert(&hashed, &first, ""));
        succeed(&mut convert(&hashed, &second, "--until 30"));
        let read = |path| fs::read(path).expect("a dump");
        assert_eq!(read(&first), read(&second));
        match state {
            "memory" => assert_ne!(read(&first), read(&again)),
            _ => {
                assert_eq!(read(&first), read(&again));
                let refused = &["addresses", "state=memory"];
                misunderstand(&mut begin(&scratch.path("none"), "memory"), refused);
                fs::remove_dir_all(scratch.path("none")).expect("a store of blocks");
            }
        }
        fs::remove_dir_all(&hashed).expect("a store");
    }
}

/// A dump with a change.
fn changed(dump: &Path, at: &Path, change: impl Fn(&str) -> String) -> PathBuf {
    let text = fs::read_to_string(dump).expect("a dump");
    let other = change(&text);
    assert_ne!(text, other);
    fs::write(at, other).expect("a file");
    at.to_owned()
}

#[test]
fn a_corrupt_dump_commits_no_state() {
    let scratch = Scratch::new("state-dumps-corrupt");
    let chain = Chain::new(&scratch);
    let [store, corrupt] = ["store", "corrupt"].map(|name| scratch.path(name));
    let lines = fs::read_to_string(&chain.dump).expect("a dump").lines().count();
    let last = |text: &str| text[..text.trim_end().rfind('\n').expect("lines") + 1].to_owned();
    let digit = |text: &str| {
        let at = text.find("\":\"0x").expect("a root") + 100;
        let other = if &text[at..=at] == "1" { "2" } else { "1" };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    };
    type Change = fn(&str) -> String;
    let cases: [(Change, &str); 4] = [
        // the state root is not that of the rest
        (last, "expected accounts with the state root 0x"),
        (|text| text[..text.len() - 40].to_owned(), "the end of the file"),
        (|text| text.replacen("\"nonce\":1,", "\"nonce\":2,", 1), "with the state root"),
        (digit, "expected "),
    ];
    for state in ["memory", "pages"] {
        let with = format!("--with state={state}");
        for (change, expected) in cases {
            let dump = changed(&chain.dump, &corrupt, change);
            let ended = run(&mut chain.begin(&store, &dump, &with));
            assert_eq!(ended.code, Some(4), "{expected}: {}{}", ended.stdout, ended.stderr);
            let place = format!("{}, line ", corrupt.display());
            assert!(ended.stderr.contains(&place), "{}", ended.stderr);
            assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        }
        // the store has blocks, and takes the dump afterwards
        let record = succeed_json(&mut chain.begin(&store, &chain.dump, &with));
        assert_eq!((&record["block"], lines > 20), (&17.into(), true));
        misunderstand(&mut chain.begin(&store, &chain.dump, &with), &["found one with a state"]);
        succeed(&mut chain.import(&store, &with));
        assert_eq!(tip_of(&store), Some(30));
        fs::remove_dir_all(&store).expect("a store");
    }
}

#[test]
fn a_dump_may_be_compressed_and_in_any_order() {
    let scratch = Scratch::new("state-dumps-packed");
    let chain = Chain::new(&scratch);
    let reversed = changed(&chain.dump, &scratch.path("reversed"), |text| {
        let (root, accounts) = text.split_once('\n').expect("lines");
        let accounts: Vec<_> = accounts.lines().rev().collect();
        format!("{root}\n{}\n", accounts.join("\n"))
    });
    let packed = scratch.path("dump.gz");
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    let bytes = fs::read(&reversed).expect("a dump");
    std::io::Write::write_all(&mut gzip, &bytes).expect("bytes in memory");
    let bytes = gzip.finish().expect("bytes in memory");
    fs::write(&packed, &bytes).expect("a file");
    for (state, dump) in [("memory", &reversed), ("pages", &packed), ("flat+trie", &packed)] {
        let store = scratch.path(state);
        let with = format!("--with state={state}");
        let text = succeed(&mut chain.begin(&store, dump, &with));
        assert!(text.contains("after block 17: "), "{text}");
        assert!(text.contains("blocks 0 to 17 were not executed"), "{text}");
        succeed(&mut chain.import(&store, &with));
        assert_eq!(tip_of(&store), Some(30));
    }
    fs::write(&packed, &bytes[..bytes.len() / 2]).expect("a file");
    let ended = run(&mut chain.begin(&scratch.path("cut"), &packed, ""));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("expected gzip data"), "{}", ended.stderr);
}

#[test]
fn a_dump_needs_its_block() {
    let scratch = Scratch::new("state-dumps-unfit");
    let chain = Chain::new(&scratch);
    let none = scratch.path("none");
    let with = |store: &Path, words: &str| {
        let mut command = blockmill(&format!("import {words} --data"));
        command.arg(store).arg("--state").arg(&chain.dump);
        command
    };
    misunderstand(&mut with(&none, ""), &["ends with the dump's, or --block, found none"]);
    misunderstand(&mut with(&none, "--until 3"), &["add --block"]);
    misunderstand(&mut with(&none, "--level bodies"), &["found others"]);
    let late = format!("--until 16 {} --block", chain.genesis());
    let late = format!("{late} {}", chain.blocks().display());
    let expected = ["a block with the dump's state root 0x", "none up to block 16"];
    misunderstand(&mut with(&none, &late), &expected);
    let headers = scratch.path("headers");
    let words = "convert --to headers --out";
    succeed(blockmill(words).arg(&headers).arg(chain.blocks()));
    let words = format!("--block {}", headers.display());
    misunderstand(&mut with(&none, &words), &["with their bodies", "found headers"]);
    assert!(!none.exists());
    // a store of blocks that ends elsewhere, and one that ends there
    let store = scratch.path("store");
    succeed(&mut chain.import(&store, "--until 16 --level bodies"));
    misunderstand(&mut with(&store, ""), &["of block 16, found 0x"]);
    succeed(&mut chain.import(&store, "--until 17 --level bodies"));
    assert_eq!(succeed_json(&mut with(&store, ""))["block"], 17);
    let paths = with(&store, "").arg(chain.blocks()).output().expect("the program");
    assert_eq!(paths.status.code(), Some(2));
    misunderstand(&mut convert(&store, &none, "--from 3"), &["--to state-jsonl", "found --from"]);
    misunderstand(&mut convert(&store, &none, "--until 30"), &["expected block 30"]);
    assert!(!none.exists());
}
