//! Death of the process while a store of headers is upgraded to bodies or to executed blocks: until
//! the folders change names the store of headers is as it was, afterwards the new store is whole,
//! and the next run ends what was begun. Nothing is removed that no import wrote.

use crate::program::{
    Random, SEAL_OFF, Scratch, Snapshot, assert_same_store, blockmill, copy, misunderstand,
    succeed, tip_of, wait,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Blocks of the archive, and kills that must fall while bodies are committed.
const BLOCKS: u64 = 6_000;
const KILLS: u32 = 25;

/// Runs that may be over, or not begun, when the signal comes, before the test gives up.
const MAX_MISSES: u32 = 1_000;

/// A file of the user's in the folder of the store.
const OTHER: &str = "notes.txt";

fn import(store: &Path, archive: &Path, level: &str) -> Command {
    let mut command = blockmill(&format!("import --chunk 64 --level {level} --data"));
    command.arg(store).arg(archive).args(SEAL_OFF);
    command
}

/// What a kill leaves, made of the old and the new folder.
type Change<'a> = &'a dyn Fn(&Path, &Path);

/// An archive, the store of headers and that of bodies which imports make of it.
struct Generated {
    scratch: Scratch,
    archive: PathBuf,
    headers: PathBuf,
    bodies: PathBuf,
    time: Duration,
}

impl Generated {
    fn new(test: &str) -> Self {
        let scratch = Scratch::new(test);
        let [archive, headers, bodies] =
            ["archive", "headers", "bodies"].map(|name| scratch.path(name));
        let mut generate = blockmill(&format!("generate ethereum --headers {BLOCKS} --out"));
        succeed(generate.arg(&archive).args(["--format", "rlp"]));
        succeed(&mut import(&headers, &archive, "headers"));
        fs::write(headers.join(OTHER), "mine").expect("a file");
        let start = Instant::now();
        succeed(&mut import(&bodies, &archive, "bodies"));
        Self { scratch, archive, headers, bodies, time: start.elapsed() }
    }

    /// A copy of the store of headers, and the folder in which bodies are imported for it.
    fn copy_headers(&self, name: &str) -> (PathBuf, PathBuf) {
        let store = self.scratch.path(name);
        copy(&self.headers, &store);
        (store, self.scratch.path(&format!("{name}.upgrading")))
    }

    /// Everything is in its place in `store`, and nothing else is left.
    fn assert_upgraded(&self, store: &Path, upgrading: &Path, records: usize) {
        assert!(!upgrading.exists(), "{} is still there", upgrading.display());
        let other = store.join(OTHER);
        assert_eq!(fs::read_to_string(&other).expect("the user's file"), "mine");
        fs::remove_file(other).expect("a file to remove");
        assert_same_store(&self.bodies, store);
        let found = fs::read_dir(store.join("records")).expect("run records").count();
        assert!(found >= records, "{found} of {records} run records");
    }
}

#[test]
fn a_killed_upgrade_resumes_and_ends_with_the_same_store() {
    let generated = Generated::new("kill-upgrade");
    let before = Snapshot::of(&generated.headers);
    let mut random = Random::new_each_run("kill_during_upgrade");
    let (mut in_the_middle, mut missed, mut completed) = (0, 0, 0);
    for round in 0.. {
        if in_the_middle >= KILLS {
            break;
        }
        let (store, upgrading) = generated.copy_headers(&format!("killed-{round}"));
        let mut committed = None;
        let mut limit = generated.time / 3;
        while committed != Some(BLOCKS) && in_the_middle < KILLS {
            let moment = Duration::from_micros(random.below(limit.as_micros() as u64));
            let mut child =
                import(&store, &generated.archive, "bodies").spawn().expect("the program starts");
            thread::sleep(moment);
            child.kill().expect("a child that can be killed, dead or alive");
            let ended = wait(child, "import");
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            assert!(matches!(ended.code, None | Some(0)), "{:?} {}", ended.code, ended.stderr);
            if Snapshot::of(&store).stored.tip != before.stored.tip {
                // the folders have changed their names
                break;
            }
            before.assert_same(&store);
            let now = tip_of(&upgrading);
            assert!(now >= committed, "bodies up to {committed:?}, after a kill {now:?}");
            if now > committed && now < Some(BLOCKS) {
                in_the_middle += 1;
                limit = generated.time / 3;
            } else {
                missed += 1;
                limit = limit * 3 / 2;
                assert!(missed < MAX_MISSES, "{in_the_middle} kills hit");
            }
            committed = now;
        }
        succeed(&mut import(&store, &generated.archive, "bodies"));
        generated.assert_upgraded(&store, &upgrading, 2);
        completed += 1;
        fs::remove_dir_all(&store).expect("a store to remove");
    }
    println!("{in_the_middle} kills in the middle, {missed} missed, {completed} stores completed");
}

#[test]
fn headers_are_upgraded_straight_to_executed_blocks() {
    let scratch = Scratch::new("upgrade-executed");
    let [archive, store, executed] =
        ["archive", "store", "executed"].map(|name| scratch.path(name));
    let mut generate = blockmill("generate ethereum --work transfers --fork osaka --blocks 40");
    let few = ["--block-transactions", "3", "--accounts", "20", "--out"];
    succeed(generate.args(few).arg(&archive));
    let run = |store: &Path, level: &str, more: &[&str]| {
        let mut command = blockmill(&format!("import --chunk 8 --level {level} --chain"));
        command.arg(archive.join("genesis.json")).arg("--data").arg(store);
        succeed(command.arg(archive.join("chain.rlp")).args(SEAL_OFF).args(more));
    };
    run(&store, "headers", &[]);
    let before = Snapshot::of(&store);
    let upgrading = scratch.path("store.upgrading");
    // half of it leaves the headers as they are, the rest takes their place
    run(&store, "execution", &["--until", "20"]);
    before.assert_same(&store);
    assert_eq!(tip_of(&upgrading), Some(20));
    run(&store, "execution", &[]);
    assert!(!upgrading.exists(), "{} is still there", upgrading.display());
    run(&executed, "execution", &[]);
    assert_eq!(tip_of(&store), tip_of(&executed));
    let checked = [&store, &executed].map(|store| succeed(blockmill("check").arg(store)));
    assert!(checked[0].contains("state"), "{}", checked[0]);
    run(&store, "execution", &[]);
}

#[test]
fn a_lower_level_over_an_interrupted_upgrade_is_refused_with_advice_that_works() {
    let scratch = Scratch::new("upgrade-lower");
    let [archive, store] = ["archive", "store"].map(|name| scratch.path(name));
    let mut generate = blockmill("generate ethereum --work transfers --fork osaka --blocks 20");
    let few = ["--block-transactions", "3", "--accounts", "20", "--out"];
    succeed(generate.args(few).arg(&archive));
    let import = |store: &Path, level: &str| {
        let mut command = blockmill(&format!("import --chunk 8 --level {level} --chain"));
        command.arg(archive.join("genesis.json")).arg("--data").arg(store);
        command.arg(archive.join("chain.rlp")).args(SEAL_OFF);
        command
    };
    succeed(&mut import(&store, "headers"));
    let upgrading = scratch.path("store.upgrading");
    succeed(import(&store, "execution").args(["--until", "10"]));
    let [other, other_upgrading] = ["other", "other.upgrading"].map(|name| scratch.path(name));
    copy(&store, &other);
    copy(&upgrading, &other_upgrading);
    for (store, upgrading) in [(&store, &upgrading), (&other, &other_upgrading)] {
        // the folder of tests may be a link
        let folder = upgrading.canonicalize().expect("a folder").display().to_string();
        let advice = ["--level execution, or remove the folder", &folder];
        misunderstand(&mut import(store, "bodies"), &advice);
        assert_eq!(tip_of(upgrading), Some(10));
    }
    // both ways that the advice names
    succeed(&mut import(&store, "execution"));
    fs::remove_dir_all(&other_upgrading).expect("a folder to remove");
    succeed(&mut import(&other, "bodies"));
    for (store, upgrading, level) in
        [(&store, &upgrading, "execution"), (&other, &other_upgrading, "bodies")]
    {
        assert!(!upgrading.exists(), "{} is still there", upgrading.display());
        let checked = succeed(blockmill("check").arg(store));
        assert!(checked.contains(&format!("level {level}")), "{checked}");
        assert_eq!(tip_of(store), Some(20));
    }
}

#[test]
fn whatever_a_kill_leaves_of_the_old_store_is_removed_by_the_next_import_and_nothing_else() {
    let generated = Generated::new("kill-upgraded");
    let records = fs::read_dir(generated.headers.join("records")).expect("run records").count();
    let replaced = |old: &Path| {
        fs::rename(old.join("manifest"), old.join("manifest.replaced")).expect("a manifest");
    };
    let take_over = |old: &Path, new: &Path| {
        replaced(old);
        fs::rename(old.join(OTHER), new.join(OTHER)).expect("the user's file");
        fs::rename(old.join("records"), new.join("records")).expect("run records");
    };
    let states: [(&str, Change<'_>); 6] = [
        ("the folders have changed names", &|_, _| ()),
        ("the old manifest has another name", &|old, _| replaced(old)),
        ("what is not the store's was reused", &|old, new| take_over(old, new)),
        ("half of the files are gone", &|old, _| {
            replaced(old);
            fs::remove_file(old.join("hashes.00000")).expect("hashes");
            fs::remove_file(old.join("headers-ends.00000")).expect("ends");
        }),
        ("all but the last file is gone", &|old, new| {
            take_over(old, new);
            let last = old.join("manifest.replaced");
            for entry in fs::read_dir(old).expect("a folder").map(|entry| entry.expect("a file")) {
                if entry.path() != last {
                    fs::remove_file(entry.path()).expect("a file to remove");
                }
            }
        }),
        ("only the folder is left", &|old, new| {
            take_over(old, new);
            fs::remove_dir_all(old).expect("a folder to remove");
            fs::create_dir(old).expect("a folder");
        }),
    ];
    for (i, (state, make)) in states.into_iter().enumerate() {
        println!("{state}");
        let (store, upgrading) = generated.copy_headers(&format!("state-{i}"));
        fs::rename(&store, &upgrading).expect("a store");
        copy(&generated.bodies, &store);
        fs::remove_dir_all(store.join("records")).expect("run records");
        make(&upgrading, &store);
        succeed(&mut import(&store, &generated.archive, "bodies"));
        generated.assert_upgraded(&store, &upgrading, records);
    }

    // a store of another chain in that place is not what was upgraded
    let (store, upgrading) = generated.copy_headers("foreign");
    fs::remove_dir_all(&store).expect("a store to remove");
    copy(&generated.bodies, &store);
    let other = generated.scratch.path("other");
    let mut generate = blockmill("generate ethereum --headers 300 --seed 9 --out");
    succeed(generate.arg(&other));
    succeed(&mut import(&upgrading, &other, "headers"));
    let before = Snapshot::of(&upgrading);
    succeed(&mut import(&store, &generated.archive, "bodies"));
    before.assert_same(&upgrading);
}
