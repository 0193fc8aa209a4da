//! `blockmill check`: what it says, how it ends, and what `--repair` leaves.

use super::program::{
    Ended, Scratch, assert_same_store, blockmill, document, read_store, run, succeed, tip_of,
    unexecuted,
};
use blockmill_store::ChainStore;
use std::fs;
use std::path::Path;
use std::process::Command;

fn import(store: &Path, archive: &Path) -> Command {
    let mut command = blockmill("import --data");
    command.arg(store).arg(archive).args(unexecuted(archive));
    command
}

fn check(store: &Path) -> Command {
    let mut command = blockmill("check");
    command.arg(store);
    command
}

/// A store with blocks up to `until`, and the archive that has more.
fn created(scratch: &Scratch, until: u64) -> (std::path::PathBuf, std::path::PathBuf) {
    let (archive, store) = (scratch.path("archive"), scratch.path("store"));
    let mut generate = blockmill("generate ethereum --headers 3000 --format freezer --out");
    succeed(generate.arg(&archive));
    succeed(import(&store, &archive).args(["--until", &until.to_string()]));
    (archive, store)
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 4;
    fs::write(path, bytes).expect("a file to write");
}

fn assert_names(ended: &Ended, path: &Path) {
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains(path.to_str().expect("UTF-8")), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("expected") && ended.stderr.contains("found"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_flip_in_the_last_stored_header_names_the_store_and_not_the_archive() {
    let scratch = Scratch::new("check-last-header");
    let (archive, store) = created(&scratch, 2000);
    let headers = store.join("headers.00000");
    let last = fs::metadata(&headers).expect("a file").len() as usize - 100;
    flip(&headers, last);
    let before = fs::read(&headers).expect("a file");
    let ended = run(&mut import(&store, &archive));
    assert_names(&ended, &headers);
    assert!(ended.stderr.contains("blockmill check DATA"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(archive.to_str().expect("UTF-8")), "{}", ended.stderr);
    assert_eq!(fs::read(&headers).expect("a file"), before, "nothing is changed");
    assert_names(&run(&mut check(&store)), &headers);
}

#[test]
fn a_check_finds_what_a_resume_does_not_read_and_repair_goes_back_before_it() {
    let scratch = Scratch::new("check-repair");
    let (archive, store) = created(&scratch, 2000);
    let good = document(&run(check(&store).arg("--json")));
    assert_eq!(good["status"], "ok", "{good}");
    assert_eq!(good["result"]["corruption"].as_array().map(Vec::len), Some(0), "{good}");
    let blocks = read_store(&store);
    // blocks 1000 and so on are after many others
    let at: usize = blocks.blocks[..1000].iter().map(|block| block.header.len()).sum();
    flip(&store.join("headers.00000"), at);
    let found = document(&run(check(&store).arg("--json")));
    assert_eq!((&found["status"], &found["exit_code"]), (&"corrupt".into(), &4.into()), "{found}");
    let place = &found["result"]["corruption"][0];
    let file = place["file"].as_str().expect("a file");
    assert!(file.ends_with("headers.00000"), "{found}");
    assert_eq!(place["offset"].as_u64(), Some((at - at % 4096) as u64), "{found}");
    let concerned = place["first_block"].as_u64()..=place["last_block"].as_u64();
    assert!(concerned.contains(&Some(1000)), "{found}");

    succeed(check(&store).arg("--repair"));
    let tip = tip_of(&store).expect("a tip");
    assert!((900..1000).contains(&tip), "went back to {tip}");
    succeed(&mut check(&store));
    succeed(&mut import(&store, &archive));
    let whole = scratch.path("whole");
    succeed(&mut import(&whole, &archive));
    assert_same_store(&whole, &store);
}

#[test]
fn corruption_of_a_part_other_than_the_blocks_is_named_and_no_repair_is_promised() {
    let scratch = Scratch::new("check-besides");
    let (archive, store) = created(&scratch, 1000);
    let open = |opening: &mut blockmill_store::Opening| {
        let accounts = opening.table("accounts", &blockmill_store::TableOptions::new(1 << 20))?;
        Ok((accounts, opening.log("changes", 1 << 20)?))
    };
    let opened = ChainStore::open_with(&store, &blockmill_store::Options::default(), open);
    let ((mut blocks, _), (mut accounts, mut changes)) = opened.expect("a store");
    accounts.put(b"an account", b"its balance").expect("a change");
    changes.append(b"no account").expect("a record");
    let (tip, mut parts) = (blocks.tip().expect("a tip"), [(&mut accounts).into()]);
    blocks.commit_with(&tip, &mut parts, b"").expect("a commit of one part");
    let mut parts = [(&mut accounts).into(), (&mut changes).into()];
    blocks.commit_with(&tip, &mut parts, b"1000").expect("a commit");
    drop(blocks);
    // an import of headers goes on, and leaves the other parts as they are
    succeed(&mut import(&store, &archive));
    let good = document(&run(check(&store).arg("--json")));
    assert_eq!(good["status"], "ok", "{good}");
    for name in ["accounts.000000", "changes.00000"] {
        let path = store.join(name);
        flip(&path, 5);
        assert_names(&run(&mut check(&store)), &path);
        let found = document(&run(check(&store).args(["--repair", "--json"])));
        assert_eq!(found["status"], "corrupt", "{found}");
        assert_eq!(found["result"]["corruption"].as_array().map(Vec::len), Some(1), "{found}");
        let repair = found["result"]["repair"].as_str().expect("what repairs it");
        assert!(repair.contains("new folder") && !repair.contains("goes back"), "{found}");
        flip(&path, 5);
    }
    succeed(&mut check(&store));
}

#[test]
fn a_check_of_no_store_says_that_it_knows_none() {
    let scratch = Scratch::new("check-nothing");
    let folder = scratch.path("folder");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("notes.txt"), "no store").expect("a file");
    let found = document(&run(check(&folder).arg("--json")));
    assert_eq!((&found["status"], &found["exit_code"]), (&"unrecognised".into(), &6.into()));
    let found = document(&run(check(&scratch.path("absent")).arg("--json")));
    assert_eq!((&found["status"], &found["exit_code"]), (&"usage".into(), &2.into()));
    assert!(found["error"].to_string().contains("No such file"), "{found}");
}

#[test]
fn a_store_of_coins_is_checked_whole() {
    let scratch = Scratch::new("check-coins");
    let (blocks, store) = (scratch.path("blocks"), scratch.path("store"));
    succeed(blockmill("generate bitcoin --inputs 100 --coins 100 --out").arg(&blocks));
    succeed(blockmill("import --data").arg(&store).arg(&blocks));
    let good = document(&run(check(&store).arg("--json")));
    assert_eq!(good["status"], "ok", "{good}");
    assert!(good["result"]["tip"].as_u64() > Some(100), "{good}");
    let log = store.join("coins/undo.00000");
    flip(&log, 50);
    assert_names(&run(&mut check(&store)), &log);
    fs::remove_file(&log).expect("a file to remove");
    assert_names(&run(&mut check(&store)), &log);
    let ended = run(blockmill("import --data").arg(&store).arg(&blocks));
    assert_names(&ended, &log);
}
