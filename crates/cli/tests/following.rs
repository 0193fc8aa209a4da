//! `import --follow` of folders that grow: in pieces of any size, with damage, with files that are
//! missing or replaced, interrupted and killed. In the end the store is that of one import.

#![cfg(target_os = "linux")]

use crate::program::signals::send;
use crate::program::{
    Random, Scratch, blockmill, document, misunderstand, run, succeed, succeed_json, wait,
};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a condition may take to come true on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A chain, and how it is imported.
struct Chain {
    folder: PathBuf,
    flags: &'static str,
    last: u64,
}

const HEADERS: &str = "--seal off --level bodies";

/// A generated Ethereum chain in a format.
fn ethereum(scratch: &Scratch, format: &str, blocks: u64) -> Chain {
    let (source, folder) = (scratch.path("source"), scratch.path(format));
    if !source.exists() {
        let words = format!("generate ethereum --headers {blocks} --format freezer --out");
        succeed(blockmill(&words).arg(&source));
    }
    let out = match format {
        "era1" | "ere" | "freezer" => folder.clone(),
        name => {
            fs::create_dir(&folder).expect("a folder");
            folder.join(format!("chain.{}", name.replace('-', ".")))
        }
    };
    succeed(blockmill(&format!("convert --to {format}")).arg(&source).arg("--out").arg(out));
    let flags = if format == "headers" { "--seal off" } else { HEADERS };
    Chain { folder, flags, last: blocks }
}

fn bitcoin(scratch: &Scratch, flags: &str) -> Chain {
    let folder = scratch.path("blocks");
    let words = format!("generate bitcoin --inputs 300 --blocks 260 --file-size 30000 {flags}");
    succeed(blockmill(&words).arg("--out").arg(&folder));
    Chain { folder, flags: "", last: 260 }
}

fn neo(scratch: &Scratch) -> Chain {
    let folder = scratch.path("neo");
    let words = "generate neo --blocks 20 --txs 10 --accounts 30 --mixed --state-roots --seed 3";
    let made = succeed_json(blockmill(words).arg("--out").arg(&folder));
    Chain { folder, flags: "", last: made["last"].as_u64().expect("a height") }
}

/// The files of a folder and below, in the order in which they are written.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    let is_block_data = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        !name.ends_with(".yml") && name != "xor.dat"
    };
    found.sort_by_key(|path| (is_block_data(path), path.clone()));
    found
}

/// How a folder grows.
#[derive(Clone, Copy)]
enum Growth {
    /// File after file.
    Files,
    /// All files at once, as the tables of a freezer.
    Tables,
    /// File after file, each in space that was filled with zeros.
    Reserved,
}

/// Writes a copy of a folder, in pieces of any size.
fn grow(from: &Path, to: &Path, growth: Growth, seed: u64) {
    let mut random = Random::new(seed);
    let mut open: Vec<(File, Vec<u8>, usize)> = vec![];
    for path in files(from) {
        let copy = to.join(path.strip_prefix(from).expect("a path below"));
        fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
        let bytes = fs::read(&path).expect("a file");
        // keys, settings and metadata are written at once
        let small = bytes.len() < 200;
        let file = File::create(&copy).expect("a file");
        if small {
            file.write_all_at(&bytes, 0).expect("a write");
            continue;
        }
        if matches!(growth, Growth::Reserved) {
            file.set_len(bytes.len() as u64 + (1 << 20)).expect("zeros");
        }
        open.push((file, bytes, 0));
        if !matches!(growth, Growth::Tables) {
            write_out(&mut open, &mut random);
        }
    }
    write_out(&mut open, &mut random);
}

fn write_out(open: &mut Vec<(File, Vec<u8>, usize)>, random: &mut Random) {
    while !open.is_empty() {
        let at = random.below(open.len());
        let (file, bytes, done) = &mut open[at];
        let piece = (1 + random.below(bytes.len() / 5 + 1)).min(bytes.len() - *done);
        file.write_all_at(&bytes[*done..*done + piece], *done as u64).expect("a write");
        *done += piece;
        if *done == bytes.len() {
            file.set_len(bytes.len() as u64).expect("its length");
            open.swap_remove(at);
        }
        thread::sleep(Duration::from_millis(random.below(400)));
    }
}

/// An import that follows a folder, with what it has written to standard error.
struct Follower {
    /// Killed when a test fails, as it never ends by itself.
    child: Option<Child>,
    said: Arc<Mutex<String>>,
    words: String,
}

fn follow(folder: &Path, data: &Path, words: &str) -> Command {
    let mut command = blockmill(&format!("import --follow {words}"));
    command.arg("--data").arg(data).arg(folder);
    command
}

impl Follower {
    fn start(folder: &Path, data: &Path, words: &str) -> Self {
        let mut command = follow(folder, data, words);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let said = Arc::new(Mutex::new(String::new()));
        let written = said.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *written.lock().expect("no panic") += &(line + "\n");
            }
        });
        Self { child: Some(child), said, words: format!("{command:?}") }
    }

    fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until it has said this; the rest of that line.
    fn wait_for(&mut self, text: &str) -> String {
        until(text, || {
            let said = self.said();
            let ended = self.child.as_mut().expect("a child").try_wait().expect("its state");
            let found = said.split(text).nth(1).and_then(|rest| rest.lines().next());
            assert!(found.is_some() || ended.is_none(), "{ended:?} without {text:?}: {said}");
            found.map(str::to_owned)
        })
    }

    /// Ends with this code; what it printed.
    fn ends(mut self, code: i32) -> String {
        let ended = wait(self.child.take().expect("a child"), &self.words);
        let said = self.said.lock().expect("no panic").clone();
        assert_eq!(ended.code, Some(code), "{}: {}{said}", self.words, ended.stdout);
        assert!(!said.contains("panicked"), "{said}");
        ended.stdout
    }

    /// Interrupts it.
    fn interrupt(self, signal: &str) -> String {
        send(signal, self.child.as_ref().expect("a child"));
        self.ends(130)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until `found` finds something.
fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "no {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// What a second import of the whole chain says of a store.
fn contents(chain: &Chain, data: &Path) -> (Value, Value) {
    let words = format!("import {} --data", chain.flags);
    let mut record = succeed_json(blockmill(&words).arg(data).arg(&chain.folder));
    assert_eq!(record["data"]["blocks"], 0, "the store has all blocks");
    (record["result"]["tip_hash"].take(), record["answer"].take())
}

/// Follows a growing copy of a chain to its end, and compares the store with that of one import.
fn follows_to_the_end(scratch: &Scratch, chain: &Chain, growth: Growth, seed: u64) {
    let [copy, followed, whole] = ["copy", "followed", "whole"].map(|name| {
        let path = scratch.path(&format!("{name}-{seed}"));
        fs::create_dir(&path).expect("a folder");
        path
    });
    let until = format!("{} --until {}", chain.flags, chain.last);
    let mut follower = Follower::start(&copy, &followed, &until);
    follower.wait_for("has no archive yet");
    grow(&chain.folder, &copy, growth, seed);
    let printed = follower.ends(0);
    assert!(printed.contains("stored blocks "), "{printed}");
    let words = format!("import {} --data", chain.flags);
    succeed(blockmill(&words).arg(&whole).arg(&chain.folder));
    assert_eq!(contents(chain, &followed), contents(chain, &whole));
    succeed(blockmill("check").arg(&followed));
}

#[test]
fn growing_ethereum_archives_of_every_format_end_as_one_import() {
    let scratch = Scratch::new("follow-ethereum");
    for (seed, format) in ["era1", "ere", "rlp", "rlp-gz", "headers", "freezer"].iter().enumerate()
    {
        let chain = ethereum(&scratch, format, 12_000);
        let growth = if *format == "freezer" { Growth::Tables } else { Growth::Files };
        follows_to_the_end(&scratch, &chain, growth, seed as u64);
    }
}

#[test]
fn growing_block_files_end_as_one_import() {
    for (name, flags) in [("follow-bitcoin", ""), ("follow-bitcoin-xor", "--xor")] {
        let scratch = Scratch::new(name);
        let chain = bitcoin(&scratch, flags);
        follows_to_the_end(&scratch, &chain, Growth::Files, 1);
        follows_to_the_end(&scratch, &chain, Growth::Reserved, 2);
    }
}

#[test]
fn a_growing_dump_ends_as_one_import() {
    let scratch = Scratch::new("follow-neo");
    follows_to_the_end(&scratch, &neo(&scratch), Growth::Files, 1);
}

/// The largest file of a folder.
fn largest(folder: &Path) -> PathBuf {
    let length = |path: &PathBuf| path.metadata().expect("a file").len();
    files(folder).into_iter().max_by_key(length).expect("a file")
}

#[test]
fn half_a_record_is_waited_for_and_named() {
    let scratch = Scratch::new("follow-half");
    let chains = [ethereum(&scratch, "era1", 3000), ethereum(&scratch, "rlp", 3000)];
    let others = [bitcoin(&scratch, ""), neo(&scratch)];
    for (at, chain) in chains.iter().chain(&others).enumerate() {
        let (file, data) = (largest(&chain.folder), scratch.path(&format!("data-{at}")));
        let bytes = fs::read(&file).expect("a file");
        fs::write(&file, &bytes[..bytes.len() * 3 / 4]).expect("a part");
        let until = format!("{} --until {}", chain.flags, chain.last);
        let mut follower = Follower::start(&chain.folder, &data, &until);
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let place = follower.wait_for(&format!("{name} ends in the middle of a record at byte "));
        let byte: usize = place.split(':').next().and_then(|n| n.parse().ok()).expect("a byte");
        assert!(byte <= bytes.len() * 3 / 4, "{place}");
        fs::write(&file, &bytes).expect("the rest");
        follower.ends(0);
        contents(chain, &data);
    }
}

#[test]
fn damage_ends_the_import_as_without_follow() {
    let scratch = Scratch::new("follow-damage");
    let chains = [ethereum(&scratch, "era1", 3000), ethereum(&scratch, "rlp", 3000)];
    let others = [bitcoin(&scratch, ""), neo(&scratch)];
    for (at, chain) in chains.iter().chain(&others).enumerate() {
        let file = largest(&chain.folder);
        let mut bytes = fs::read(&file).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&file, &bytes).expect("a corrupt file");
        let [one, other] = ["one", "other"].map(|name| scratch.path(&format!("{name}-{at}")));
        let words = format!("import --json {} --data", chain.flags);
        let expected = run(blockmill(&words).arg(&one).arg(&chain.folder));
        let words = format!("--json {}", chain.flags);
        let found = run(&mut follow(&chain.folder, &other, &words));
        assert_eq!(found.code, expected.code, "{}", found.stdout);
        assert!(matches!(found.code, Some(1 | 3 | 4)), "{}", found.stdout);
        let [expected, found] = [expected, found].map(|ended| document(&ended));
        assert_eq!(found["error"], expected["error"]);
        assert_eq!(found["status"], expected["status"]);
    }
}

#[test]
fn a_corrupt_length_at_the_end_of_a_file_waits() {
    let scratch = Scratch::new("follow-length");
    let chain = bitcoin(&scratch, "");
    let file = files(&chain.folder).pop().expect("the last file");
    let mut bytes = fs::read(&file).expect("a file");
    // the frame of the last record
    let magic: [u8; 4] = *bytes.first_chunk().expect("a magic");
    let last = bytes.windows(4).rposition(|found| found == magic).expect("a record");
    bytes[last + 6] ^= 0x20;
    bytes.truncate(bytes.len() - 1);
    fs::write(&file, &bytes).expect("a corrupt file");
    let mut follower = Follower::start(&chain.folder, &scratch.path("data"), "");
    follower.wait_for(&format!("ends in the middle of a record at byte {last}"));
    follower.interrupt("INT");
}

#[test]
fn missing_files_are_waited_for_by_name() {
    let scratch = Scratch::new("follow-missing");
    let chain = ethereum(&scratch, "era1", 20_000);
    let names = files(&chain.folder);
    let away = scratch.path("away");
    for (at, text) in [(0, "block 0 is not there"), (1, "00001-*.era1 is missing")] {
        fs::rename(&names[at], &away).expect("a file to take away");
        let data = scratch.path(&format!("data-{at}"));
        let until = format!("{} --until {}", chain.flags, chain.last);
        let mut follower = Follower::start(&chain.folder, &data, &until);
        follower.wait_for(text);
        fs::rename(&away, &names[at]).expect("the file again");
        follower.ends(0);
        contents(&chain, &data);
    }
    let scratch = Scratch::new("follow-missing-blocks");
    let chain = bitcoin(&scratch, "");
    let mut names = files(&chain.folder);
    names.retain(|path| path.to_string_lossy().contains("blk"));
    assert!(names.len() > 3, "several files");
    for (at, text) in [(0, "are not there"), (1, "blk00001.dat is not in")] {
        let away = scratch.path("away");
        fs::rename(&names[at], &away).expect("a file to take away");
        let data = scratch.path(&format!("data-{at}"));
        let until = format!("--until {}", chain.last);
        let mut follower = Follower::start(&chain.folder, &data, &until);
        follower.wait_for(text);
        fs::rename(&away, &names[at]).expect("the file again");
        follower.ends(0);
        contents(&chain, &data);
    }
}

#[test]
fn the_first_block_to_store_is_waited_for() {
    let scratch = Scratch::new("follow-first");
    let chain = ethereum(&scratch, "era1", 20_000);
    let names = files(&chain.folder);
    names[1..].iter().for_each(|name| fs::remove_file(name).expect("a file to remove"));
    let words = format!("{} --from 10000", chain.flags);
    let mut follower = Follower::start(&chain.folder, &scratch.path("data"), &words);
    follower.wait_for("waiting: the archive does not have the first block to store yet");
    follower.interrupt("INT");
}

#[test]
fn a_replaced_file_with_other_blocks_is_refused() {
    let scratch = Scratch::new("follow-replaced");
    let chain = neo(&scratch);
    let file = largest(&chain.folder);
    let other = scratch.path("other");
    let words = "generate neo --blocks 20 --txs 10 --accounts 30 --mixed --state-roots --seed 4";
    succeed(blockmill(words).arg("--out").arg(&other));
    let data = scratch.path("data");
    let mut follower = Follower::start(&chain.folder, &data, "");
    follower.wait_for("for new blocks");
    let new = scratch.path("new");
    fs::copy(largest(&other), &new).expect("a copy");
    fs::rename(&new, &file).expect("another file");
    let text = follower.ends(1);
    assert!(text.contains("stored blocks 0 to"), "{text}");
}

#[test]
fn interrupts_and_kills_leave_a_store_that_continues() {
    let scratch = Scratch::new("follow-stopped");
    let chain = ethereum(&scratch, "era1", 20_000);
    let (copy, data) = (scratch.path("copy"), scratch.path("data"));
    fs::create_dir(&copy).expect("a folder");
    let words = chain.flags;
    Follower::start(&copy, &data, words).interrupted_after("has no archive yet", "TERM");
    for (at, file) in files(&chain.folder).into_iter().enumerate() {
        fs::copy(&file, copy.join(file.file_name().expect("a name"))).expect("a copy");
        if at == 1 {
            // somewhere in a round
            let follower = Follower::start(&copy, &data, words);
            thread::sleep(Duration::from_millis(150));
            drop(follower);
            continue;
        }
        let mut follower = Follower::start(&copy, &data, words);
        follower.wait_for("for new blocks");
        let said = follower.said.clone();
        let printed = follower.interrupt("INT");
        assert!(printed.contains(" rounds"), "{printed}");
        let said = said.lock().expect("no panic").clone();
        assert!(said.contains("the same command resumes after it"), "{said}");
    }
    contents(&chain, &data);
    succeed(blockmill("check").arg(&data));
}

impl Follower {
    fn interrupted_after(mut self, text: &str, signal: &str) {
        self.wait_for(text);
        self.interrupt(signal);
    }
}

fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a server");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn metrics_live_across_rounds_and_show_the_lag() {
    let scratch = Scratch::new("follow-serve");
    let chain = ethereum(&scratch, "era1", 20_000);
    let (copy, data) = (scratch.path("copy"), scratch.path("data"));
    fs::create_dir(&copy).expect("a folder");
    let words = format!("{} --serve 127.0.0.1:0", chain.flags);
    let mut follower = Follower::start(&copy, &data, &words);
    let address = follower.wait_for("http://");
    let has = |line: &str| {
        until(line, || {
            let text = ask(&address, "/metrics");
            text.lines().any(|found| found.trim_end_matches(".0") == line).then_some(())
        });
    };
    let waits_for = |text: &str| {
        until(text, || ask(&address, "/status.json").contains(text).then_some(()));
    };
    has("blockmill_lag_seconds 0");
    let names = files(&chain.folder);
    let copied = |file: &PathBuf| {
        fs::copy(file, copy.join(file.file_name().expect("a name"))).expect("a copy");
    };
    copied(&names[0]);
    has("blockmill_committed_block_number 8191");
    has("blockmill_pending_blocks 0");
    // blocks after a gap are known and cannot be stored
    copied(&names[2]);
    has(&format!("blockmill_pending_blocks {}", chain.last - 8191));
    waits_for("00001-*.era1 is missing");
    copied(&names[1]);
    has(&format!("blockmill_committed_block_number {}", chain.last));
    has("blockmill_pending_blocks 0");
    has("blockmill_lag_seconds 0");
    follower.interrupt("TERM");
    let records = fs::read_dir(data.join("records")).expect("records").count();
    assert_eq!(records, 2, "that of the first round and that of the last one");
    let mut records = files(&data.join("records")).into_iter();
    let record = records.find(|path| path.to_string_lossy().ends_with("-last.json"));
    let record = record.expect("that of the last round");
    let record: Value = serde_json::from_slice(&fs::read(record).expect("a record")).expect("JSON");
    assert_eq!(record["following"]["blocks"], chain.last + 1);
    assert_eq!(record["following"]["stored"].as_u64(), Some(2), "{}", record["following"]);
}

#[test]
fn what_cannot_grow_is_refused() {
    let scratch = Scratch::new("follow-usage");
    let chain = neo(&scratch);
    let data = scratch.path("data");
    for words in ["--partial", "--profile", "--checksums x"] {
        misunderstand(&mut follow(&chain.folder, &data, words), &["--follow"]);
    }
    misunderstand(&mut follow(Path::new("-"), &data, ""), &["--follow", "pipe"]);
    misunderstand(&mut follow(Path::new("/no/such/folder"), &data, ""), &["/no/such/folder"]);
    assert!(!data.exists(), "no store is left");
}
