//! A store whose state stays on disk, as a user meets it.

use crate::program::{
    Scratch, blockmill, document, fixtures, misunderstand, run, succeed, succeed_json, tip_of,
};
use blockmill_ethereum::state::FlatStore;
use blockmill_pipeline::options::NamedOption;
use blockmill_store::ChainStore;
use blockmill_verdict::Status;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An import of a chain through every fork.
fn import(store: &Path, flags: &str) -> Command {
    let mut command = blockmill(&format!("import --seal off {flags} --data"));
    command.arg(store).arg(fixtures().join("chains/execution-apis/chain.rlp"));
    command
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_goes_on_as_it_was_made_and_answers_as_others_do() {
    let scratch = Scratch::new("state-on-disk");
    let plain = scratch.path("plain");
    succeed(&mut import(&plain, ""));
    let proof = |store: &Path, block: &str| {
        let account = format!("0x{}", "00".repeat(20));
        succeed_json(
            blockmill(&format!("prove --account {account} --slot 0x0 --block {block}")).arg(store),
        )
    };
    let flat = FlatStore::available().map(|flat| ("flat+trie", flat));
    for (kind, flat) in flat.chain([("pages", FlatStore::Tables)]) {
        let folder = match flat {
            FlatStore::Tables => kind.replace('+', "-"),
            FlatStore::RocksDb => "flat-rocksdb".into(),
        };
        let store = scratch.path(&folder);
        let flat = flat.name();
        let options = format!("--with state={kind} --with flat-store={flat}");
        let with = format!("{options} --cache 16");
        succeed(&mut import(&store, &format!("{with} --until 30")));
        assert_eq!(tip_of(&store), Some(30));
        let expected = format!("expected state={kind}, as this store keeps it");
        let memory = "--with state=memory";
        misunderstand(&mut import(&store, memory), &[memory, &expected]);
        // the store knows where its state is
        succeed(&mut import(&store, "--cache 16"));
        assert_eq!(tip_of(&store), Some(54));
        for block in ["54", "31", "2"] {
            assert_eq!(proof(&store, block), proof(&plain, block), "{kind} {block}");
        }
        succeed(blockmill("unwind --to 20").arg(&store));
        assert_eq!(tip_of(&store), Some(20));
        succeed(&mut import(&store, &with));
        assert_eq!(tip_of(&store), Some(54));
        succeed(blockmill("check").arg(&store));
        let mut snapshot = blockmill("convert --to snapshot --out");
        let genesis = fixtures().join("chains/execution-apis/genesis.json");
        let snapshot = snapshot.arg(scratch.path("snapshot")).arg("--chain").arg(genesis);
        let snapshot = snapshot.arg(&store).arg("--force");
        let written = succeed_json(snapshot);
        assert_eq!(written["block"], 54, "{written}");
        let mut verify = blockmill(&format!("verify --seal off {options}"));
        succeed(verify.arg(fixtures().join("chains/execution-apis/chain.rlp")));
    }
    let healed = succeed_json(blockmill("heal").arg(scratch.path("flat-trie")));
    assert_eq!(
        (&healed["values"], &healed["nodes"], &healed["lost"]),
        (&0.into(), &0.into(), &0.into())
    );
    misunderstand(
        blockmill("heal").arg(scratch.path("pages")),
        &["state=flat+trie", "state=pages"],
    );
    misunderstand(blockmill("heal").arg(&plain), &["state=flat+trie", "state=memory"]);
    misunderstand(
        &mut import(&scratch.path("new"), "--with state=tree"),
        &["available: state=flat+trie|pages|memory"],
    );
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn an_upgraded_store_answers_as_one_that_was_executed_at_once() {
    let scratch = Scratch::new("state-on-disk-upgraded");
    let proof = |store: &Path| {
        let account = format!("0x{}", "00".repeat(20));
        succeed_json(blockmill(&format!("prove --account {account} --block 54")).arg(store))
    };
    let direct = scratch.path("direct");
    succeed(&mut import(&direct, ""));
    for (at, with) in
        ["pages", "pages --with references=cache", "flat+trie", "memory"].into_iter().enumerate()
    {
        let store = scratch.path(&format!("store-{at}"));
        succeed(&mut import(&store, "--level bodies"));
        let upgrade = format!("--level execution --cache 16 --with state={with}");
        succeed(&mut import(&store, &format!("{upgrade} --until 30")));
        for _ in 0..2 {
            succeed(&mut import(&store, &upgrade));
            let checked = succeed(blockmill("check").arg(&store));
            assert!(checked.contains("state after block 54"), "{with}: {checked}");
            assert_eq!(proof(&store), proof(&direct), "{with}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn corrupt_files_of_values_or_of_nodes_are_healed() {
    let scratch = Scratch::new("state-on-disk-heal");
    let store = scratch.path("store");
    succeed(&mut import(&store, "--with state=flat+trie"));
    // what the log has goes into files
    succeed(blockmill("heal").arg(&store));
    let of_state = |name: &str| name.starts_with("flat-") || name.starts_with("trie-nodes");
    let files = fs::read_dir(&store).expect("a folder").map(|entry| entry.expect("a file").path());
    let is_one = |path: &PathBuf| of_state(&path.file_name().unwrap_or_default().to_string_lossy());
    let files: Vec<PathBuf> = files.filter(is_one).collect();
    assert!(files.len() > 2, "{files:?}");
    let mut corrupt_files = 0;
    for path in files {
        // an earlier file of the same table replaced it
        if !path.exists() {
            continue;
        }
        corrupt_files += 1;
        let mut bytes = fs::read(&path).expect("a file");
        let at = bytes.len() / 3;
        bytes[at] ^= 8;
        fs::write(&path, bytes).expect("a file");
        assert_eq!(run(blockmill("check").arg(&store)).code, Some(4), "{}", path.display());
        let healed = succeed_json(blockmill("heal").arg(&store));
        assert_eq!((&healed["lost"], &healed["replaced"]), (&0.into(), &true.into()), "{healed}");
        let corrupt = healed["corrupt"][0].as_str().unwrap_or_default();
        assert!(corrupt.contains(path.to_str().expect("UTF-8")), "{corrupt}");
        succeed(blockmill("check").arg(&store));
        assert!(!path.exists(), "{} was replaced", path.display());
    }
    assert!(corrupt_files > 2, "{corrupt_files}");
    succeed(blockmill("unwind --to 40").arg(&store));
    succeed(&mut import(&store, "--with state=flat+trie"));
    assert_eq!(tip_of(&store), Some(54));
}

/// Earlier programs committed what is to be said of a state on disk without the state.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_that_names_a_state_and_has_none_is_corrupt() {
    let scratch = Scratch::new("state-on-disk-lost");
    let genesis = fixtures().join("chains/execution-apis/genesis.json");
    for kind in ["pages", "flat+trie", "memory"] {
        let [executed, lost, new] =
            ["executed", "lost", "new"].map(|name| scratch.path(&format!("{kind}-{name}")));
        succeed(&mut import(&executed, &format!("--with state={kind}")));
        succeed(&mut import(&lost, "--level bodies"));
        let (from, _) = ChainStore::open_read_only(&executed).expect("a store");
        let (mut to, _) =
            ChainStore::open(&lost, &blockmill_store::Options::default()).expect("a store");
        let tip = from.tip().expect("a block");
        to.commit_with(&tip, &mut [], from.state_of_parts()).expect("a commit");
        drop(to);
        let ended = run(blockmill("check --json").arg(&lost));
        let found = document(&ended);
        assert_eq!((ended.code, &found["status"]), (Some(4), &"corrupt".into()), "{kind}: {found}");
        let corruption = &found["result"]["corruption"];
        assert_eq!(corruption.as_array().map(Vec::len), Some(1), "{corruption}");
        let advice = corruption[0]["repair"].as_str().unwrap_or_default();
        let command = format!("blockmill import {} --data NEW", lost.display());
        assert!(advice.contains(&command), "{advice}");
        // what is advised works
        let mut again = blockmill(&format!("import --seal off --with state={kind} --data"));
        succeed(again.arg(&new).arg(&lost).arg("--chain").arg(&genesis));
        assert_eq!(tip_of(&new), Some(54));
        succeed(blockmill("check").arg(&new));
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_corrupt_state_is_reported_as_corrupt_and_never_blamed_on_a_block() {
    let scratch = Scratch::new("state-on-disk-damage");
    let store = scratch.path("store");
    succeed(&mut import(&store, "--with state=pages --until 40"));
    let mut reported = 0;
    for entry in fs::read_dir(&store).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("state-pages") {
            continue;
        }
        let whole = fs::read(&path).expect("a file");
        for at in [9, whole.len() / 2, whole.len() - 2] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&path, &bytes).expect("a file");
            let ended = run(blockmill("check --json").arg(&store));
            assert_eq!(document(&ended)["status"], "corrupt", "{name} at {at}");
            let ended = run(&mut import(&store, "--json --with state=pages"));
            let status = document(&ended)["status"].clone();
            assert!(status == "corrupt" || status == "verified", "{name} at {at}: {status}");
            assert_ne!(ended.code, Some(Status::Invalid.exit_code().into()));
            reported += usize::from(status == "corrupt");
            fs::write(&path, &whole).expect("a file");
            succeed(blockmill("unwind --to 40").arg(&store));
        }
    }
    assert!(reported > 2, "{reported} reported");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn who_has_the_first_block_does_not_read_its_accounts_again() {
    let scratch = Scratch::new("state-on-disk-genesis");
    let chain = fixtures().join("chains/execution-apis");
    let (archive, genesis) = (scratch.path("chain.rlp"), scratch.path("genesis.json"));
    fs::copy(chain.join("chain.rlp"), &archive).expect("an archive");
    let text = fs::read_to_string(chain.join("genesis.json")).expect("a genesis.json");
    fs::write(&genesis, &text).expect("a file");
    let import = |store: &str, flags: &str| {
        let mut command = blockmill(&format!("import --seal off --with state=pages {flags}"));
        command.arg("--data").arg(scratch.path(store)).arg(&archive);
        command
    };
    succeed(&mut import("store", "--until 20"));
    // accounts that cannot be read
    let start = text.find("\"alloc\"").expect("accounts");
    let (before, accounts) = text.split_at(start);
    let broken = format!("{before}{}", accounts.replacen("\"balance\"", "balance", 1));
    assert_ne!(broken, text);
    fs::write(&genesis, &broken).expect("a file");
    succeed(&mut import("store", "--until 30"));
    misunderstand(&mut import("new", ""), &["genesis.json: key must be a string"]);
    let mut witness = blockmill("witness --block 25 --out");
    let out = scratch.path("witness.json");
    succeed(witness.arg(&out).arg(scratch.path("store")).arg("--chain").arg(&genesis));
    // the first block of another chain
    let other = text.replacen("\"gasLimit\": \"0x", "\"gasLimit\": \"0x1", 1);
    assert_ne!(other, text);
    fs::write(&genesis, &other).expect("a file");
    let ended = run(&mut import("store", ""));
    assert!(ended.stderr.contains("another chain"), "{}", ended.stderr);
    assert_eq!(tip_of(&scratch.path("store")), Some(30));
}
