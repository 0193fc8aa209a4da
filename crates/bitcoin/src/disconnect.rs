//! Back to where the store's chain and the best chain part.

use crate::coin::Coin;
use crate::coins::PackedCoin;
use crate::commit::Ledger;
use crate::decode::Block;
use crate::execute::unwind;
use crate::fault::{Cause, Error, Fault};
use crate::index::{Found, Tree};
use crate::merkle::Merkle;
use crate::options::Options;
use crate::path::Path;
use crate::run::{Run, Tip};
use crate::undo;
use crate::{Id, Rule, Violation};
use archive::blkdat::{BlockFiles, BodyReader};
use crypto::ManySha256;

/// Files that stay open while bodies are read.
const OPEN_FILES: usize = 4;

/// Disconnects the blocks of the store that are not on `path`, and commits.
pub(crate) fn to_fork(
    (files, options): (&BlockFiles, &Options),
    tree: &Tree,
    path: &Path,
    ledger: &mut Ledger,
    run: &mut Run,
) -> Result<(), Error> {
    let tip = ledger.tip();
    let unknown = || Error::OtherChain {
        expected: format!("block {} at height {}", Id(&tip.hash), tip.height),
        found: "files without it".into(),
    };
    if tip.height == 0 || is_on(path, tree, tip) {
        return Ok(());
    }
    let mut node = tree.find(&tip.hash).ok_or_else(unknown)?;
    let (mut reader, hasher) = (BodyReader::new(files, OPEN_FILES), ManySha256::detect());
    let (mut block, mut data) = (Block::default(), vec![]);
    let mut merkle = Merkle::new(hasher);
    let mut end = ledger.undo_end();
    let mut at = tip;
    while !is_on(path, tree, at) {
        if options.cancel.is_cancelled() {
            ledger.go_back(at, end)?;
            (run.tip, run.committed) = (Some(at), Some(at));
            return Err(Error::Stopped);
        }
        read_block(&mut reader, tree, node, &mut block, &mut merkle, &hasher)
            .map_err(|cause| Fault::at(files, tree, node, cause))?;
        end = ledger.read_undo(end, &mut data)?;
        disconnect_block(&block, &data, ledger, at)?;
        node = tree.parent(node);
        at = Tip { height: tree.height(node), hash: *tree.hash(node) };
        run.disconnected += 1;
        if ledger.coins().wants_flush() {
            ledger.go_back(at, end)?;
        }
    }
    ledger.go_back(at, end)?;
    (run.tip, run.committed) = (Some(at), Some(at));
    Ok(())
}

/// Is the block on the path?
fn is_on(path: &Path, tree: &Tree, tip: Tip) -> bool {
    path.nodes.get(tip.height as usize).is_some_and(|node| *tree.hash(*node) == tip.hash)
}

/// Reads a block of the tree; where its record is damaged by now, from a copy. All that undoing the
/// block relies on is proven by the header.
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
    // only the genesis block has no record
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
            let (stated, found) = (Id(&stated), Id(&root.hash));
            Err(Cause::Rule(Violation::new(Rule::MerkleRoot, stated, found)))
        }
    }
}

/// Gives back what the block spent and takes away what it made.
fn disconnect_block(
    block: &Block,
    data: &[u8],
    ledger: &mut Ledger,
    tip: Tip,
) -> Result<(), Error> {
    let damaged = |found: &dyn std::fmt::Display| {
        let (height, id) = (tip.height, Id(&tip.hash));
        Error::Damaged(format!("undo data of block {height} ({id}): {found}"))
    };
    let (mut encoded, mut ends) = (vec![], vec![]);
    let mut reader = undo::Reader::new(data).map_err(|error| damaged(&error))?;
    while let Some(inputs) = reader.transaction().map_err(|error| damaged(&error))? {
        for _ in 0..inputs {
            let coin: Coin = reader.coin().map_err(|error| damaged(&error))?;
            PackedCoin::pack(&coin, &mut encoded);
            ends.push(encoded.len());
        }
    }
    let inputs = block.inputs.len() - 1;
    if ends.len() != inputs {
        return Err(damaged(&format!("expected {inputs} coins, found {}", ends.len())));
    }
    let coin = |input: usize| {
        let start = input.checked_sub(1).map_or(0, |before| ends[before]);
        &encoded[start..ends[input]]
    };
    let mut coins = ledger.coins();
    unwind(&mut coins, block, block.transactions.len(), inputs, coin)?;
    Ok(())
}
