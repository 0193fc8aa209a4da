//! Real chains, imported: the tip, the coins and the undo data are those of Bitcoin Core, in every
//! option, from files in any order.

use crate::generated_headers::Random;
use crate::imports;
use crate::imports::{End, options, run_well, write};
use crate::naive_connect::Owned;
use crate::real_blocks;
use blockmill_bitcoin::Level;
use blockmill_bitcoin::datadir::Datadir;
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::settings::Settings;
use blockmill_pipeline::options::OptionSet;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Block 4,521 of the main network.
const MAINNET_TIP: &str = "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40";
/// Block 400 of testnet3.
const TESTNET_TIP: &str = "00000000763effc6fcd7f757043a4d7a9262582582d05f1fd9dc6c6c70bfaf0b";

/// A chain of the fixtures: where it is, and its blocks from the genesis block on.
struct Real {
    params: Params,
    path: PathBuf,
    blocks: Vec<Vec<u8>>,
    end: End,
}

/// The three chains.
fn chains() -> Vec<Real> {
    let mut sources = real_blocks::all();
    sources.truncate(3);
    let folder = blockmill_testkit::fixture("bitcoin");
    let names = ["mainnet-0-4521.dat", "testnet3-0-400.dat", "regtest-1-206.hex.txt"];
    let networks = [Params::mainnet(), Params::testnet3(), Params::regtest()];
    let mut chains = vec![];
    for ((source, params), name) in sources.into_iter().zip(networks).zip(names) {
        let mut blocks = source.blocks;
        if blocks[0] != params.genesis {
            blocks.insert(0, params.genesis.clone());
        }
        let end = End::naive(&blocks);
        chains.push(Real { params, path: folder.join(name), blocks, end });
    }
    assert_eq!(chains[0].end.tip, (4_521, MAINNET_TIP.into()));
    assert_eq!(chains[1].end.tip, (400, TESTNET_TIP.into()));
    assert_eq!(chains[2].end.tip.0, 206);
    chains
}

/// The default, the plainest setting, and each of them with one option at each of its other values.
fn all_settings() -> Vec<Settings> {
    let slowest = Settings::plainest();
    let default = Settings::default();
    let mut all = vec![slowest];
    all.extend(default.neighbours().map(|(_, _, other)| other));
    all.extend(slowest.neighbours().map(|(_, _, other)| other));
    let mut distinct = vec![default];
    for setting in all {
        if !distinct.contains(&setting) {
            distinct.push(setting);
        }
    }
    distinct
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn real_chains_end_with_the_coins_of_a_naive_connect_at_any_number_of_threads() {
    for chain in chains() {
        for (threads, memory) in [(1, 64 << 20), (2, 1 << 20), (5, 1 << 20)] {
            let data = tempfile::tempdir().unwrap();
            let options = imports::options(chain.params.clone());
            let options = blockmill_bitcoin::import::Options { threads, memory, ..options };
            let run = run_well(&chain.path, &options, data.path());
            let end = End::of(data.path(), &options);
            let what = format!("{} {threads} threads", chain.path.display());
            end.assert_same(&chain.end, &what);
            let last = chain.blocks.len() as u32 - 1;
            assert_eq!((run.range, run.blocks), (Some((1, last)), last.into()), "{what}");
            assert_eq!(run.tip, run.best, "{what}");
            assert_eq!(run.coins, end.statistics.coins, "{what}");
            // again: nothing to do, nothing changes
            let run = run_well(&chain.path, &options, data.path());
            assert_eq!((run.blocks, run.resumed), (0, run.best), "{what}");
            End::of(data.path(), &options).assert_same(&chain.end, &what);
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_option_ends_with_the_same_coins() {
    for chain in chains().into_iter().skip(1) {
        for settings in all_settings() {
            let data = tempfile::tempdir().unwrap();
            let mut options = options(chain.params.clone());
            options.settings = settings;
            run_well(&chain.path, &options, data.path());
            End::of(data.path(), &options).assert_same(&chain.end, &format!("{settings:?}"));
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn order_copies_and_obfuscation_of_the_files_do_not_matter() {
    for chain in chains() {
        let reversed: Vec<_> = chain.blocks.iter().rev().cloned().collect();
        let mut shuffled = chain.blocks.clone();
        Random::new(7).shuffle(&mut shuffled);
        let mut twice = [&shuffled[..], &chain.blocks[..]].concat();
        Random::new(8).shuffle(&mut twice);
        let orders =
            [("reversed", reversed, false), ("shuffled", shuffled, true), ("twice", twice, true)];
        for (name, blocks, xor) in orders {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &chain.params, &blocks, 200_000, xor);
            for settings in [&[][..], &["stages=serial"]] {
                let data = tempfile::tempdir().unwrap();
                let options = imports::with(&options(chain.params.clone()), settings);
                run_well(folder.path(), &options, data.path());
                let what = format!("{} {name} {settings:?}", chain.params.name);
                End::of(data.path(), &options).assert_same(&chain.end, &what);
            }
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn lower_levels_find_the_same_tip_and_keep_no_coins() {
    for chain in chains() {
        for level in [Level::Headers, Level::Bodies] {
            let data = tempfile::tempdir().unwrap();
            let mut options = options(chain.params.clone());
            options.level = level;
            let run = run_well(&chain.path, &options, data.path());
            let tip = run.tip.unwrap();
            assert_eq!((tip.height, tip.hash.to_string()), chain.end.tip, "{level:?}");
            assert_eq!((run.blocks, run.coins), (tip.height.into(), 0));
            assert!(!data.path().join("coins").exists());
        }
    }
}

/// What Core left in its datadir.
fn of_core(folder: &Path) -> End {
    let datadir = Datadir::open(folder).unwrap();
    let mut reader = datadir.coins().unwrap();
    let best = reader.best_block();
    let mut coins = HashMap::new();
    while let Some((outpoint, coin)) = reader.next_coin().unwrap() {
        let (height, coinbase, value) = (coin.height, coin.coinbase, coin.value);
        let script = coin.script.to_vec();
        coins.insert(outpoint, Owned { height, coinbase, value: value.to_sat(), script });
    }
    let chain = datadir.chain(&best).unwrap();
    let undo = chain[1..].iter().map(|entry| datadir.read_undo(entry).unwrap().unwrap().data);
    let tip = (chain.len() as u32 - 1, best.to_string());
    End { tip, statistics: imports::statistics(&coins), coins, undo: undo.collect() }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_datadir_of_core_gives_cores_own_coins_and_undo_data() {
    let folder = tempfile::tempdir().unwrap();
    blockmill_testkit::unpack("bitcoin/core-datadir-main-0-4521.tar.zst", folder.path());
    let expected = of_core(folder.path());
    assert_eq!(expected.tip, (4_521, MAINNET_TIP.into()));
    let data = tempfile::tempdir().unwrap();
    let options = options(Params::mainnet());
    run_well(folder.path(), &options, data.path());
    End::of(data.path(), &options).assert_same(&expected, "Core's datadir");
}
