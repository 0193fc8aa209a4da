//! Random walks over the operations of a store, each held to a model.
//!
//! A walk begins with an empty folder. Its steps are the commands of the program, in random order
//! by seed: import of a part of the chain, resume, upgrade of the level, unwind, an import that is
//! stopped or killed, corruption with `check --repair` and whatever that advises, `heal`, a
//! snapshot out and in, `prove`, `witness`, `convert` back. After each step the exit code is the
//! one that the model expects, `check` finds nothing, and last block, level, state roots and proofs
//! are those of the model: the blocks of the chain, and a reference store that one import with its
//! state in memory wrote ([`chain_model`]).
//!
//! A long run:
//!
//! ```text
//! BLOCKMILL_WALKS=2000 cargo test -p blockmill-cli --test store_walks -- --nocapture
//! ```
//!
//! `BLOCKMILL_TEST_SEED` chooses other walks, `BLOCKMILL_WALK` runs one of them again and keeps
//! its folder.

#[path = "../store_corruption/deeds.rs"]
mod deeds;
#[path = "../program/mod.rs"]
mod program;

mod bitcoin_model;
mod bitcoin_walk;
mod chain_model;
mod command;
mod dying_disk;
mod ethereum_corruption;
mod ethereum_steps;
mod ethereum_walk;
mod neo_model;
mod neo_walk;
mod walks;

use chain_model::Chain;
use ethereum_walk::{Kind, Walk};
use walks::walk_all;

/// Walks of each kind of store, unless `BLOCKMILL_WALKS` says how many.
const WALKS: u64 = 6;

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_with_its_state_in_memory() {
    walk_ethereum("memory", Kind::Memory);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_with_its_state_in_pages() {
    walk_ethereum("pages", Kind::Pages);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_with_its_state_and_references_in_a_small_cache() {
    walk_ethereum("cached", Kind::PagesCached);
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_store_with_its_state_in_values_and_nodes() {
    walk_ethereum("flat-trie", Kind::FlatTrie);
}

#[test]
fn a_store_of_coins_with_two_branches() {
    let scratch = program::Scratch::new(&format!("walks-bitcoin-{}", std::process::id()));
    let chain = bitcoin_model::Chain::new(&scratch);
    walk_all("bitcoin", WALKS, |random, folder, steps| {
        let mut walk = bitcoin_walk::BitcoinWalk::new(&chain, folder, random);
        (0..steps).for_each(|_| walk.step());
        std::mem::take(&mut walk.seen)
    });
}

#[test]
fn a_store_of_neo_blocks() {
    let scratch = program::Scratch::new(&format!("walks-neo-{}", std::process::id()));
    let chain = neo_model::Chain::new(&scratch);
    walk_all("neo", WALKS, |random, folder, steps| {
        let mut walk = neo_walk::NeoWalk::new(&chain, folder, random);
        (0..steps).for_each(|_| walk.step());
        std::mem::take(&mut walk.seen)
    });
}

fn walk_ethereum(name: &str, kind: Kind) {
    let folder = walks::folder("chain");
    let chain = Chain::published(folder.path());
    walk_all(name, WALKS, |random, folder, steps| {
        let mut walk = Walk::new(&chain, kind, folder, random);
        for _ in 0..steps {
            walk.step();
        }
        std::mem::take(&mut walk.seen)
    });
}
