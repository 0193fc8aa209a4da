//! How long joining many units takes, and how much memory: a made-up chain of proof of stake in
//! units of 8,192 blocks, of which only what boundaries tell is there.
//! `cargo run --release -p blockmill-ethereum --example join_many -- UNITS fold|all|print`: one by
//! one, all at once, or their documents, one in a line.

use archive::ChunkLimit;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::header::Header;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::option_table::Setting;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::unit::boundary::{
    Asked, BlockName, Boundary, Counts, Head, HeadBlock, LastBlock, SCHEMA, Sides, Source,
};
use blockmill_ethereum::unit::text::{Bytes, HashText, Number};
use blockmill_ethereum::unit::{Fold, join};
use blockmill_ethereum::{Hash, Level, U256};
use chain::Status;
use pipeline::Cancel;
use rlp::Encode;
use std::error::Error;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;

/// Blocks of a unit.
const BLOCKS: u64 = 8_192;

/// The chain: proof of stake since its first block.
const GENESIS: &str = include_str!("join_many.json");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: join_many UNITS fold|all|print";
    let units: u64 = arguments.next().ok_or(usage)?.parse()?;
    let how = arguments.next().ok_or(usage)?;
    let options = options()?;
    let mut chain = Chain::new(&options);
    let documents = (0..units).map(|unit| serde_json::to_string(&chain.next_unit(unit)));
    if how == "print" {
        let mut out = BufWriter::new(std::io::stdout().lock());
        for document in documents {
            writeln!(out, "{}", document?)?;
        }
        return Ok(out.flush()?);
    }
    let start = Instant::now();
    let mut bytes = 0;
    let mut boundaries = documents.map(|document| -> Result<Boundary, serde_json::Error> {
        let document = document?;
        bytes += document.len();
        serde_json::from_str(&document)
    });
    let joined = if how == "all" {
        let all: Result<Vec<_>, _> = boundaries.collect();
        join(&all?, &options)?
    } else {
        let mut fold = Fold::new(&options);
        boundaries.try_for_each(|unit| -> Result<(), Box<dyn Error>> { Ok(fold.take(&unit?)?) })?;
        fold.finish()?
    };
    joined.outcome?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = system::proc::peak_memory("self").unwrap_or(0);
    let blocks = joined.boundary.blocks;
    println!("{how}: {units} units, {blocks} blocks, {bytes} bytes of documents");
    println!("{seconds:.2} s with their making, {} MB of memory at most", peak / 1_000_000);
    Ok(())
}

fn options() -> Result<Options, Box<dyn Error>> {
    Ok(Options {
        spec: Arc::new(ChainSpec::from_genesis_json(GENESIS)?),
        level: Level::Headers,
        seal: SealPolicy { mode: SealMode::Off, seed: 1 },
        setting: Setting::default(),
        threads: 1,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        cancel: Cancel::default(),
    })
}

/// A chain as far as it was made.
struct Chain {
    asked: Asked,
    parent: Hash,
}

impl Chain {
    /// Behind the genesis block.
    fn new(options: &Options) -> Self {
        let spec = &options.spec;
        let asked = Asked {
            chain: spec.name.clone(),
            genesis: HashText(spec.genesis.hash),
            level: options.level,
            seal: options.seal.mode.to_string(),
            seal_seed: options.seal.seed,
            now: None,
            trust: vec![],
            from: None,
            until: None,
            options: options.setting.to_map(),
        };
        Self { asked, parent: spec.genesis.hash }
    }

    /// The block of this number, as the next one. Half of its gas is used, so that the base fee
    /// stays what the empty genesis block makes it.
    fn next_block(&mut self, number: u64) -> HeadBlock {
        let header = Header {
            parent_hash: self.parent,
            number,
            gas_limit: 30_000_000,
            gas_used: 15_000_000,
            timestamp: 12 * number,
            base_fee: Some(U256::from(875_000_000)),
            withdrawals_root: Some(trie::EMPTY_ROOT),
            ..Header::default()
        };
        let header = header.encode();
        self.parent = crypto::keccak256(&header);
        HeadBlock {
            hash: HashText(self.parent),
            header: Bytes(header),
            ommers: Bytes::default(),
            total_difficulty: None,
            header_at: None,
            body_at: None,
            total_at: None,
        }
    }

    /// The boundary of a unit, as the next one: of its blocks, the first seven and the last.
    fn next_unit(&mut self, unit: u64) -> Boundary {
        let first = 1 + unit * BLOCKS;
        let last = first + BLOCKS - 1;
        let blocks: Vec<_> = (first..first + 7).map(|number| self.next_block(number)).collect();
        let name = BlockName { number: first, hash: blocks[0].hash };
        let tip = self.next_block(last);
        Boundary {
            schema: SCHEMA,
            status: Status::Verified,
            asked: self.asked.clone(),
            sources: vec![Source {
                path: format!("/archive/unit-{unit:06}.rlp").into(),
                bytes: 100 << 20,
                sha256: Some("0".repeat(64)),
            }],
            format: "rlp".into(),
            stated: Some((first, Some(last))),
            blocks: BLOCKS,
            first: Some(name.clone()),
            last: Some(LastBlock {
                number: last,
                hash: tip.hash,
                header: tip.header,
                total_difficulty: None,
            }),
            anchor: Some(name),
            total_before: None,
            difficulty_sum: Number::default(),
            head: Head { starts_at: Some(first), location: None, good: blocks.len(), blocks },
            tail: vec![],
            sides: Sides::default(),
            trusted: vec![],
            fault: None,
            shortfalls: vec![],
            notes: vec![],
            counts: Counts::default(),
        }
    }
}
