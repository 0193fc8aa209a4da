//! `coins=multiset` in shards: block files with their undo files, and the unspent coins, each
//! verified alone and merged under one salt, give the verdict of a single run. Missing, repeated
//! and changed parts are reported. `coin_multiset.rs` verifies its forgeries in shards, too.

use crate::generated_chain::{Draft, Maker, coins, pay};
use crate::imports;
use crate::imports::{options, run_well, with};
use crate::kept::{Kept, Shards, by_multiset, chain};
use blockmill_archive::blkdat::{BlockFiles, Network, open};
use blockmill_bitcoin::import::Options;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::shard::documents::{Bodies, BodiesMultiset, Execution, Hex, Salt, Table};
use blockmill_bitcoin::shard::{self, Merger};
use blockmill_bitcoin::{Error, Level};
use blockmill_testkit::Random;
use blockmill_verdict::Status;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A datadir of several files, and its shards.
struct Case {
    folder: TempDir,
    datadir: PathBuf,
    options: Options,
    shards: Shards,
}

fn with_multiset(params: &Params) -> Options {
    Options { level: Level::Execution, ..with(&options(params.clone()), &["coins=multiset"]) }
}

fn files(datadir: &Path, params: &Params) -> BlockFiles {
    open(&[datadir.to_path_buf()], Network::from_magic(params.magic)).unwrap()
}

impl Case {
    fn of(kept: &Kept, max_file: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let datadir = kept.write_in_files(folder.path(), max_file);
        let options = with_multiset(&kept.params);
        let shards = Shards::of(&files(&datadir, &kept.params), &datadir, &options);
        Self { folder, datadir, options, shards }
    }

    fn merge(&self, drawn: Option<Salt>) -> Merger<'_> {
        self.shards.merge(&self.options, drawn).unwrap()
    }

    /// The first input of level `execution`, and the first tables.
    fn asked(&self) -> (Execution, Vec<Table>) {
        let mut merger = self.merge(None);
        (merger.execution().unwrap().unwrap(), merger.tables().unwrap())
    }

    fn bodies(&self, shard: usize, (execution, tables): &(Execution, Vec<Table>)) -> Bodies {
        self.shards.bodies(shard, &tables[shard], execution, &self.options).unwrap()
    }

    /// A merge of all parts except number `left_out`; the coins are the last part.
    fn merged(&self, asked: &(Execution, Vec<Table>), left_out: Option<usize>) -> Merger<'_> {
        let mut merger = self.merge(Some(asked.0.salt));
        let count = self.shards.headers.len();
        for shard in (0..count).filter(|shard| Some(*shard) != left_out) {
            merger.add_bodies(shard, self.bodies(shard, asked)).unwrap();
        }
        if left_out != Some(count) {
            merger.add_coins(&self.shards.coins(&asked.0, &self.options).unwrap()).unwrap();
        }
        merger
    }
}

#[track_caller]
fn unknown(merger: Merger<'_>, text: &str) {
    let (run, outcome) = merger.finish();
    let error = outcome.expect_err("no proof");
    assert_eq!(error.status(), Status::Unrecognised, "{error}");
    let message = error.to_string();
    let is_named = message.starts_with("the coin multiset hash proves nothing: ");
    assert!(is_named && message.contains(text), "{message}");
    assert!(run.proof.is_none());
}

#[test]
fn a_datadir_of_some_files_is_proven_in_shards() {
    let kept = chain(71);
    let bytes: usize = kept.blocks.iter().map(|block| block.len() + 8).sum();
    for wanted in [1, 2, 5] {
        let folder = tempfile::tempdir().unwrap();
        let max_file = bytes as u64 / wanted + 2_000;
        let datadir = kept.write_in_files(folder.path(), max_file);
        let count = files(&datadir, &kept.params).files().len() as u64;
        assert!(count.abs_diff(wanted) <= 1 && (wanted == 1) == (count == 1), "{count} files");
        let options = options(kept.params.clone());
        let (run, outcome) = by_multiset(&datadir, &datadir, &options);
        outcome.unwrap();
        let proof = run.proof.expect("a proof");
        // several files in a shard
        for size in [2, 3, 100] {
            let with_multiset = with_multiset(&kept.params);
            let shards =
                Shards::in_groups(&files(&datadir, &kept.params), size, &datadir, &with_multiset);
            let (own, outcome) = shards.verify(&with_multiset);
            outcome.unwrap();
            assert_eq!((own.proof, own.inputs), (run.proof, run.inputs));
        }
        assert_eq!(proof.created, proof.spent + proof.unspent);
        // up to another block than that of the coins, nothing is proven
        let until = Options { until: Some(100), ..options.clone() };
        assert!(by_multiset(&datadir, &datadir, &until).0.unproven.is_some());
        // the coins of a store work as well
        let store = tempfile::tempdir().unwrap();
        run_well(&datadir, &options, store.path());
        let (by_store, outcome) = by_multiset(&datadir, store.path(), &options);
        outcome.unwrap();
        assert_eq!(by_store.proof, run.proof);
    }
}

#[test]
fn scripts_that_are_assumed_valid_do_not_run_in_shards_either() {
    let kept = chain(72);
    let case = Case::of(&kept, 20_000);
    let hash = |height: usize| blockmill_hashes::sha256d(&kept.blocks[height][..80]);
    let assumed = blockmill_bitcoin::BlockHash(hash(120));
    let options = Options { assume_valid: Some(assumed), ..case.options.clone() };
    let merger = case.shards.merge(&options, None).unwrap();
    let execution = merger.execution().unwrap().unwrap();
    assert_eq!(execution.assumed_valid, 120);
    // a merge that requires all scripts refuses parts without them
    assert!(case.shards.merge(&case.options, Some(execution.salt)).is_err());
    case.shards.verify(&options).1.unwrap();
}

#[test]
fn a_part_that_is_missing_or_doubled_does_not_count() {
    let case = Case::of(&chain(73), 20_000);
    let asked = case.asked();
    let count = case.shards.headers.len();
    assert!(count > 2);
    for left_out in 0..=count {
        let mut merger = case.merged(&asked, Some(left_out));
        let rows: usize = merger.tables().unwrap().iter().map(|table| table.rows.len()).sum();
        assert_eq!((rows > 0, merger.lacks_coins()), (left_out < count, left_out == count));
        unknown(merger, "expected the parts of");
    }
    // twice is once
    let mut merger = case.merged(&asked, None);
    merger.add_bodies(1, case.bodies(1, &asked)).unwrap();
    merger.add_coins(&case.shards.coins(&asked.0, &case.options).unwrap()).unwrap();
    merger.finish().1.unwrap();
    // a part of some blocks of another part is none
    let mut merger = case.merged(&asked, Some(1));
    let (execution, mut tables) = asked.clone();
    tables[1].rows.truncate(3);
    merger.add_bodies(1, case.bodies(1, &(execution, tables))).unwrap();
    let error = merger.add_bodies(1, case.bodies(1, &asked)).unwrap_err();
    assert!(error.to_string().contains("one part of each block"), "{error}");
    // bodies alone have no part
    let bodies = shard::bodies(&case.shards.files[0], &asked.1[0], &case.options).unwrap();
    let error = case.merge(None).add_bodies(0, bodies).unwrap_err();
    assert!(error.to_string().contains("part of the coin multiset hash"), "{error}");
}

#[test]
fn parts_of_another_salt_or_of_other_files_are_refused() {
    let case = Case::of(&chain(74), 20_000);
    let (asked, again) = (case.asked(), case.asked());
    assert_ne!(asked.0.salt, again.0.salt, "one of each merge");
    assert_eq!(asked.0.salt.files, again.0.salt.files);
    let mut merger = case.merge(Some(asked.0.salt));
    let error = merger.add_bodies(0, case.bodies(0, &again)).unwrap_err();
    assert!(error.to_string().contains("under one salt"), "{error}");
    let coins = case.shards.coins(&again.0, &case.options).unwrap();
    assert!(merger.add_coins(&coins).is_err());
    assert_eq!(error.status(), Status::Usage);
    // a hash under another salt, relabelled with the right one
    let mut merger = case.merged(&asked, Some(0));
    let mut bodies = case.bodies(0, &again);
    let salt = asked.0.salt;
    bodies.multiset = bodies.multiset.map(|own| Box::new(BodiesMultiset { salt, ..*own }));
    merger.add_bodies(0, bodies).unwrap();
    unknown(merger, "the multiset hash of");
    // it was drawn for certain files
    let other = Salt { files: Hex([7; 32]), ..asked.0.salt };
    let error = case.shards.merge(&case.options, Some(other)).err().unwrap();
    assert!(error.to_string().contains("of these files"), "{error}");
    let other = Case::of(&chain(75), 20_000);
    assert!(case.shards.merge(&case.options, Some(other.asked().0.salt)).is_err());
}

/// Changes the last byte of a file that is not zero.
fn change(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[bytes[at] ^ 1]).unwrap();
}

#[test]
fn a_file_that_changes_between_the_steps_is_refused() {
    let kept = chain(76);
    for name in ["blocks/blk00001.dat", "blocks/rev00001.dat"] {
        let case = Case::of(&kept, 20_000);
        let asked = case.asked();
        let path = case.datadir.join(name);
        change(&path);
        let outcome = case.shards.bodies(1, &asked.1[1], &asked.0, &case.options);
        let error = outcome.expect_err("a refusal");
        let is_it = matches!(&error, Error::FileChanged { path: found, .. } if *found == path);
        assert!(is_it && error.status() == Status::Corrupt, "{error}");
        // the other shards are what they were
        case.bodies(0, &asked);
        drop(case.folder);
    }
    let case = Case::of(&kept, 20_000);
    let asked = case.asked();
    // a file more in the folder of the coins
    fs::write(case.shards.folder.join("more"), "more").unwrap();
    let error = case.shards.coins(&asked.0, &case.options).unwrap_err();
    assert!(matches!(error, Error::FileChanged { .. }), "{error}");
}

#[test]
fn coins_of_an_older_block_prove_nothing() {
    let kept = chain(77);
    let case = Case::of(&kept, 20_000);
    let older = Kept::of(&kept.params, &kept.blocks[..120]);
    let folder = tempfile::tempdir().unwrap();
    let datadir = older.write(folder.path());
    let shards = Shards::of(&files(&case.datadir, &kept.params), &datadir, &case.options);
    let (_, outcome) = shards.verify(&case.options);
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("expected those of block"), "{text}");
}

#[test]
fn missing_undo_data_is_reported_with_its_block() {
    let case = Case::of(&chain(78), 20_000);
    let (execution, mut tables) = case.asked();
    let lost = tables[1].rows[5].height.unwrap();
    tables[1].rows[5].record.undo = None;
    let asked = (execution, tables);
    let mut merger = case.merged(&asked, None);
    assert!(merger.tables().unwrap().iter().all(|table| table.rows.is_empty()));
    unknown(merger, &format!("undo data of block {lost} "));
}

/// For random files, shards, forgeries and corruption, the verdict is that of a single run;
/// [`by_multiset`] compares it for shards of one file.
#[test]
fn a_hundred_random_cuts_have_the_verdict_of_a_single_run() {
    let good = chain(83);
    let bytes: usize = good.blocks.iter().map(|block| block.len() + 8).sum();
    let mut random = Random::new(83);
    let mut counts = [0; 2];
    for round in 0..100 {
        let mut kept = good.clone();
        match round % 5 {
            1 => kept.some_coin(&mut random).1.value += 1,
            2 => drop(kept.unspent.remove(random.below(good.unspent.len()))),
            _ => {}
        }
        let folder = tempfile::tempdir().unwrap();
        let max_file = 3_000 + random.below(bytes) as u64;
        let datadir = kept.write_in_files(folder.path(), max_file);
        let all = files(&datadir, &kept.params);
        if round % 5 == 3 {
            let number = random.below(all.files().len());
            let kind = ["blk", "rev"][random.below(2)];
            change_some(&datadir.join(format!("blocks/{kind}{number:05}.dat")), &mut random);
        }
        let (run, outcome) = by_multiset(&datadir, &datadir, &options(kept.params.clone()));
        let with_multiset = with_multiset(&kept.params);
        let size = 2 + random.below(4);
        let (own, verdict) =
            Shards::in_groups(&all, size, &datadir, &with_multiset).verify(&with_multiset);
        assert_eq!(own.proof, run.proof, "round {round}");
        let is_proven = verdict.is_ok();
        assert_eq!(is_proven, run.unproven.is_none() && outcome.is_ok(), "round {round}");
        counts[usize::from(is_proven)] += 1;
    }
    assert!(counts[1] >= 40 && counts[0] >= 40, "{counts:?}");
}

/// Changes a bit of a file somewhere.
fn change_some(path: &Path, random: &mut Random) {
    let mut bytes = fs::read(path).unwrap();
    random.flip(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// A second round of tables: the first shard has a part for the good blocks of its table. The copy
/// of the bad block is in the table of another shard, with the undo file of the first.
#[test]
fn a_corrupt_block_has_its_part_where_its_copy_is() {
    let kept = chain(82);
    let case = Case::of(&kept, 20_000);
    let blocks = case.datadir.join("blocks");
    let record = case.shards.headers[1].records[4];
    let path = blocks.join("blk00001.dat");
    let mut bytes = fs::read(&path).unwrap();
    let end = record.offset as usize + record.size as usize;
    let key = case.shards.all.files()[1].key();
    let mut copy = bytes[record.offset as usize - 8..end].to_vec();
    key.apply(&mut copy, record.offset - 8);
    key.apply(&mut copy, 0);
    bytes[end - 30] ^= 1;
    fs::write(&path, bytes).unwrap();
    let count = case.shards.headers.len();
    fs::write(blocks.join(format!("blk{count:05}.dat")), copy).unwrap();
    let shards = Shards::of(&files(&case.datadir, &kept.params), &case.datadir, &case.options);
    let copied = &shards.headers[count];
    assert_eq!((copied.records.len(), &copied.undo), (1, &shards.headers[1].undo));
    let (run, outcome) = shards.verify(&case.options);
    outcome.unwrap();
    assert_eq!((run.blocks, run.notes.len()), (140, 1), "{:?}", run.notes);
    assert!(run.proof.is_some());
}

#[test]
fn a_block_that_breaks_a_rule_is_at_fault_where_the_multiset_hash_proves_its_coins() {
    let too_much: fn(&mut Maker) -> Draft = |maker| {
        let coin = maker.take_coin();
        let mut draft = maker.draft_of(vec![pay(&[coin], 2)]);
        draft.transactions[0].outputs[0].value += 1;
        draft
    };
    let too_early: fn(&mut Maker) -> Draft = |maker| {
        let mut first = maker.draft_of(vec![]);
        first.commits = false;
        first.transactions[0].inputs[0].witness.clear();
        let coins = coins(&first.transactions[0]);
        maker.push(first);
        maker.draft_of(vec![pay(&coins[..1], 1)])
    };
    let rules = [("bad-cb-amount", too_much), ("bad-txns-premature-spend-of-coinbase", too_early)];
    for (rule, bad) in rules {
        let mut maker = Maker::of(&Params::regtest(), 81, 130);
        let draft = bad(&mut maker);
        let height = draft.height;
        maker.push(draft);
        maker.extend(3);
        let mut kept = Kept::of(&maker.params, &maker.blocks);
        let case = Case::of(&kept, 20_000);
        // the report is that of the run
        let (_, outcome) = by_multiset(&case.datadir, &case.datadir, &options(kept.params.clone()));
        assert_eq!(outcome.unwrap_err().report().rule.as_deref(), Some(rule));
        let error = case.shards.verify(&case.options).1.unwrap_err();
        let report = error.report();
        assert_eq!((error.status(), report.rule.as_deref()), (Status::Invalid, Some(rule)));
        assert_eq!(report.block, Some(height.into()));
        // with one wrong coin, the undo data of that block may be wrong, too
        kept.unspent[7].1.value += 1;
        let forged = Case::of(&kept, 20_000);
        let error = forged.shards.verify(&forged.options).1.unwrap_err();
        assert_eq!(error.status(), Status::Unrecognised, "{error}");
    }
}

#[test]
fn shards_at_level_execution_begin_with_the_genesis_block_and_are_in_a_datadir() {
    let params = Params::regtest();
    let options = with_multiset(&params);
    let blocks = Maker::of(&params, 79, 20).blocks;
    let folder = tempfile::tempdir().unwrap();
    imports::write(folder.path(), &params, &blocks, 1 << 20, false);
    let error = shard::headers(&files(folder.path(), &params), &options).unwrap_err();
    assert!(error.to_string().contains("found it alone"), "{error}");
    let error = shard::coin_files(folder.path(), &options).unwrap_err();
    assert!(error.to_string().contains("the chainstate of a datadir"), "{error}");
    let case = Case::of(&chain(80), 20_000);
    let middle = Shards {
        all: case.shards.all.only(&[1]),
        files: vec![case.shards.all.only(&[1])],
        folder: case.shards.folder.clone(),
        headers: vec![case.shards.headers[1].clone()],
        coins: case.shards.coins.clone(),
    };
    let error = middle.merge(&case.options, None).err().unwrap();
    assert!(matches!(error, Error::NoBeginning(_)), "{error}");
    let coins = &case.shards.folder;
    let files = fs::read_dir(coins).unwrap();
    files.for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    let error = shard::coin_files(coins, &case.options).unwrap_err();
    assert!(matches!(error, Error::NoCoins(_)), "{error}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_datadir_of_core_is_proven_in_shards_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", folder.path());
    let options = with_multiset(&Params::mainnet());
    let shards = Shards::of(&files(folder.path(), &options.params), folder.path(), &options);
    let (run, outcome) = shards.verify(&options);
    outcome.unwrap();
    assert_eq!((run.blocks, run.tip.unwrap().height), (4_521, 4_521));
}
