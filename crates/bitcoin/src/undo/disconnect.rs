//! Disconnects blocks down to the fork of the store's chain and the best chain.

use crate::body::merkle::Merkle;
use crate::chainstate::Chainstate;
use crate::coins::PackedCoin;
use crate::error::Error;
use crate::execute::unwind;
use crate::fault::{Cause, fault_of_block};
use crate::index::path::Path;
use crate::index::{Found, Tree};
use crate::options::Options;
use crate::run::{Run, Tip};
use crate::types::{Block, Coin};
use crate::undo;
use crate::{Rule, Violation};
use blockmill_archive::blkdat::{BlockFiles, BodyReader};
use blockmill_hashes::ManySha256;
use blockmill_verdict::Reversed;

/// Number of files that stay open while bodies are read.
const OPEN_FILES: usize = 4;

/// Disconnects the blocks of the store that are not on `path`, and commits.
pub(crate) fn to_fork(
    (files, options): (&BlockFiles, &Options),
    tree: &Tree,
    path: &Path,
    chainstate: &mut Chainstate,
    run: &mut Run,
) -> Result<(), Error> {
    let tip = chainstate.tip();
    let unknown = || Error::OtherChain {
        expected: format!("block {} at height {}", tip.hash, tip.height),
        found: "files without it".into(),
    };
    if tip.height == 0 || is_on(path, tree, tip) {
        return Ok(());
    }
    let mut node = tree.find(&tip.hash).ok_or_else(unknown)?;
    let (mut reader, hasher) = (BodyReader::new(files, OPEN_FILES), ManySha256::detect());
    let (mut block, mut data) = (Block::default(), vec![]);
    let mut merkle = Merkle::new(hasher);
    let mut end = chainstate.undo_end();
    let mut at = tip;
    while !is_on(path, tree, at) {
        if options.cancel.is_cancelled() {
            chainstate.go_back(at, end)?;
            (run.tip, run.committed) = (Some(at), Some(at));
            return Err(Error::Stopped);
        }
        read_block(&mut reader, tree, node, &mut block, &mut merkle, &hasher)
            .map_err(|cause| fault_of_block(files, tree, node, cause))?;
        end = chainstate.read_undo(end, &mut data)?;
        disconnect_block(&block, &data, chainstate, at)?;
        node = tree.parent(node);
        at = Tip { height: tree.height(node), hash: *tree.hash(node) };
        run.disconnected += 1;
        if chainstate.coins().wants_flush() {
            chainstate.go_back(at, end)?;
        }
    }
    chainstate.go_back(at, end)?;
    (run.tip, run.committed) = (Some(at), Some(at));
    Ok(())
}

/// Returns whether the block is on the path.
fn is_on(path: &Path, tree: &Tree, tip: Tip) -> bool {
    path.nodes.get(tip.height as usize).is_some_and(|node| *tree.hash(*node) == tip.hash)
}

/// Reads a block of the tree, or a copy of it if its record has become corrupt. The header proves
/// everything that disconnecting the block depends on.
fn read_block(
    reader: &mut BodyReader,
    tree: &Tree,
    node: u32,
    block: &mut Block,
    merkle: &mut Merkle,
    hasher: &ManySha256,
) -> Result<(), Cause> {
    let mut first = None;
    for found in tree.record(node).into_iter().chain(tree.copies(node)) {
        match read_record(reader, found, block, merkle, hasher) {
            Ok(()) => return Ok(()),
            Err(cause) => _ = first.get_or_insert(cause),
        }
    }
    // the genesis block may have no record
    first.map_or(Ok(()), Err)
}

fn read_record(
    reader: &mut BodyReader,
    found: &Found,
    block: &mut Block,
    merkle: &mut Merkle,
    hasher: &ManySha256,
) -> Result<(), Cause> {
    reader.read(found.location(), &mut block.raw).map_err(Cause::Archive)?;
    block.decode_record(hasher).map_err(Cause::Encoding)?;
    if block.hash != found.hash {
        return Err(Cause::Changed { expected: found.hash, found: block.hash });
    }
    let (root, stated) = (merkle.root(&block.txids), block.stated_merkle_root());
    match root.hash == stated && !root.repeated {
        true => Ok(()),
        false => {
            let (stated, found) = (Reversed(&stated), Reversed(&root.hash));
            Err(Cause::Rule(Violation::new(Rule::MerkleRoot, stated, found)))
        }
    }
}

/// Restores the coins that the block spent, and removes those that it created.
fn disconnect_block(
    block: &Block,
    data: &[u8],
    chainstate: &mut Chainstate,
    tip: Tip,
) -> Result<(), Error> {
    let corrupt = |found: &dyn std::fmt::Display| {
        let (height, id) = (tip.height, tip.hash);
        Error::Corrupt(format!("undo data of block {height} ({id}): {found}"))
    };
    let (mut encoded, mut ends) = (vec![], vec![]);
    let mut reader = undo::Reader::new(data).map_err(|error| corrupt(&error))?;
    while let Some(inputs) = reader.transaction().map_err(|error| corrupt(&error))? {
        for _ in 0..inputs {
            let coin: Coin = reader.coin().map_err(|error| corrupt(&error))?;
            PackedCoin::pack(&coin, &mut encoded);
            ends.push(encoded.len());
        }
    }
    let inputs = block.inputs.len() - 1;
    if ends.len() != inputs {
        return Err(corrupt(&format!("expected {inputs} coins, found {}", ends.len())));
    }
    let coin = |input: usize| {
        let start = input.checked_sub(1).map_or(0, |before| ends[before]);
        &encoded[start..ends[input]]
    };
    let mut coins = chainstate.coins();
    unwind(&mut coins, block, block.transactions.len(), inputs, coin)?;
    Ok(())
}
