//! Where a run begins: after the last stored block, at the genesis block, or at an anchor.

use crate::body::BodyView;
use crate::body::ommers::{Ancestor, AncestorWindow, GENERATIONS};
use crate::commit::BlockSink;
use crate::error::Error;
use crate::header::{EncodedHeader, HeaderView};
use crate::link::{BlockId, Tip};
use crate::options::Options;
use crate::shard::summary::{LastBlock, ShardSummary};
use crate::stored::split_body;
use crate::{Hash, Level, U256};
use blockmill_archive::Archive;
use blockmill_store::{Blocks, ChainStore, Items};
use blockmill_verdict::Hex;

/// What a run begins with.
#[derive(Default)]
pub(crate) struct Beginning {
    /// First block to read.
    pub from: u64,
    /// The block that the first new one must follow; `None` if the first block is believed.
    pub tip: Option<Tip>,
    /// The last blocks before it.
    pub window: AncestorWindow,
    /// The last block of the store that the run resumes from.
    pub resumed: Option<BlockId>,
    /// The anchor of the stored chain, when it does not begin with the genesis block.
    pub anchor: Option<BlockId>,
    /// Trusted blocks that are stored already.
    pub met: Vec<BlockId>,
}

impl Beginning {
    /// After block 0, which is part of the program and often left out of exports.
    pub(crate) fn after_genesis(options: &Options) -> Result<Self, Error> {
        let genesis = &options.spec.genesis;
        let header = EncodedHeader::decode(genesis.raw.clone()).map_err(|_| Error::Empty)?;
        let mut window = AncestorWindow::default();
        window.push(Ancestor::new(genesis.hash, &header.view(), &[]));
        let total_difficulty = Some(header.view().difficulty);
        let id = BlockId { number: 0, hash: genesis.hash };
        let tip = Tip { id, header, total_difficulty };
        Ok(Self { tip: Some(tip), window, ..Self::default() })
    }

    /// After the last block of `before`.
    ///
    /// # Errors
    /// [`Error::Fault`] if the header of that block cannot be decoded.
    pub(crate) fn after(before: &ShardSummary, options: &Options) -> Result<Self, Error> {
        let tip = |last: &LastBlock| last.tip(last.total_difficulty.map(|total| total.0));
        let tip = before.last.as_ref().map(tip).transpose().map_err(|fault| *fault)?;
        let (from, window) = (options.from.unwrap_or(0), before.window());
        Ok(Self { from, tip, window, ..Self::default() })
    }
}

/// Finds out where to begin, and stores the genesis block where the archive leaves it out.
pub(crate) fn begin(
    archive: &Archive,
    options: &Options,
    sink: &mut dyn BlockSink,
) -> Result<Beginning, Error> {
    if options.level >= Level::Execution && !archive.has_bodies() {
        return Err(Error::Execution { lacks: "an archive with bodies".into() });
    }
    if let Some(store) = sink.store()
        && let Some(tip) = store.tip()
    {
        return resume(store, &tip, options);
    }
    let mut beginning = Beginning {
        from: options.from.unwrap_or(0),
        tip: None,
        window: AncestorWindow::default(),
        resumed: None,
        anchor: None,
        met: vec![],
    };
    let first = archive.range().map_or(0, |(first, _)| first).max(options.from.unwrap_or(0));
    if options.level >= Level::Execution && first > 1 {
        let lacks = format!("the state before block {first}, or an archive from genesis on");
        return Err(Error::Execution { lacks });
    }
    if let Some(store) = sink.store_mut() {
        store.set_first_added(first == 1);
    }
    if first == 1 {
        let after = Beginning::after_genesis(options)?;
        (beginning.tip, beginning.window) = (after.tip, after.window);
        if let Some(store) = sink.store_mut() {
            store_genesis(store, archive.has_receipts(), options)?;
        }
    }
    Ok(beginning)
}

/// After the last block of a stored chain.
fn resume(
    store: &ChainStore,
    tip: &blockmill_store::Tip,
    options: &Options,
) -> Result<Beginning, Error> {
    let spec = &options.spec;
    if tip.chain != spec.genesis.hash {
        let stored = crate::params::ChainSpec::by_genesis_hash(&tip.chain);
        let expected = stored.map_or("another chain".to_string(), |stored| stored.name);
        return Err(Error::OtherChain { expected, found: spec.name.clone() });
    }
    // a store with all blocks of the chain can be upgraded: they are executed
    let is_upgraded = options.level == Level::Execution
        && tip.level == Level::Bodies as u8
        && store.first() == Some(0);
    if tip.level != options.level as u8 && !is_upgraded {
        let stored = Level::stored(tip.level).map_or("unknown", Level::name);
        return Err(Error::OtherChain {
            expected: format!("blocks of level {stored}"),
            found: format!("an import at level {}", options.level.name()),
        });
    }
    let mut window = AncestorWindow::default();
    for number in tip.number.saturating_sub(GENERATIONS as u64 - 1)..=tip.number {
        push_stored(store, number, &mut window)?;
    }
    let id = BlockId { number: tip.number, hash: tip.hash };
    let total = U256::from_be_bytes(tip.total_difficulty);
    let gone = || Error::StoredBlock { number: tip.number, expected: tip.hash, found: None };
    let header = store.header(tip.number)?.ok_or_else(gone)?;
    check_tip(store, tip, &header)?;
    let header = EncodedHeader::decode(header).map_err(|_| gone())?;
    let anchored = tip.anchor_number > 0;
    let mut met = vec![];
    for hash in &options.trust {
        if let Some(number) = store.number_of(hash)? {
            met.push(BlockId { number, hash: *hash });
        }
    }
    Ok(Beginning {
        // the last stored block again, so that an archive of another chain is noticed
        from: options.from.unwrap_or(0).max(tip.number),
        tip: Some(Tip { id, header, total_difficulty: Some(total).filter(|t| !t.is_zero()) }),
        window,
        resumed: Some(id),
        anchor: anchored.then_some(BlockId { number: tip.anchor_number, hash: tip.anchor_hash }),
        met,
    })
}

/// Compares the last stored block and the anchor with their hashes, so that a corrupt store is
/// never reported as an invalid archive.
fn check_tip(store: &ChainStore, tip: &blockmill_store::Tip, header: &[u8]) -> Result<(), Error> {
    let damaged = |what, expected: &Hash, found: &Hash| {
        let (path, offset) = store.header_place(tip.number);
        let (expected, found) = (Hex(expected).to_string(), Hex(found).to_string());
        Err(blockmill_store::Error::Corrupt { path, offset, what, expected, found }.into())
    };
    let hash = blockmill_rlp::ethereum::block_hash(header);
    if hash != tip.hash {
        return damaged("last header", &tip.hash, &hash);
    }
    match store.hash_of(tip.anchor_number)? {
        Some(hash) if hash != tip.anchor_hash => damaged("anchor", &tip.anchor_hash, &hash),
        _ => Ok(()),
    }
}

fn push_stored(store: &ChainStore, number: u64, window: &mut AncestorWindow) -> Result<(), Error> {
    let (Some(header), Some(hash)) = (store.header(number)?, store.hash_of(number)?) else {
        return Ok(());
    };
    let body = store.body(number)?;
    let ommers = match body.as_deref().map(|stored| BodyView::decode(split_body(stored).0)) {
        Some(Ok(body)) => body.ommers().collect(),
        _ => vec![],
    };
    if let Ok(header) = HeaderView::decode(&header) {
        window.push(Ancestor::new(hash, &header, &ommers));
    }
    Ok(())
}

/// Stores and commits block 0, which is part of the program and often left out of exports.
fn store_genesis(
    store: &mut ChainStore,
    has_receipts: bool,
    options: &Options,
) -> Result<(), Error> {
    let genesis = &options.spec.genesis;
    let header = HeaderView::decode(&genesis.raw).map_err(|_| Error::Empty)?;
    let empty_body: &[u8] = match header.withdrawals_root {
        Some(_) => &[0xc3, 0xc0, 0xc0, 0xc0],
        None => &[0xc2, 0xc0, 0xc0],
    };
    let bodies = options.level >= Level::Bodies;
    let receipts = bodies && has_receipts;
    store.append(&Blocks {
        first: 0,
        hashes: &[genesis.hash],
        headers: Items { bytes: &genesis.raw, ends: &[genesis.raw.len() as u32] },
        bodies: bodies.then_some(Items { bytes: empty_body, ends: &[empty_body.len() as u32] }),
        receipts: receipts.then_some(Items { bytes: &[0xc0], ends: &[1] }),
    })?;
    store.commit(&blockmill_store::Tip {
        number: 0,
        hash: genesis.hash,
        total_difficulty: header.difficulty.to_be_bytes(),
        anchor_number: 0,
        anchor_hash: genesis.hash,
        chain: genesis.hash,
        level: options.level as u8,
    })?;
    Ok(())
}
