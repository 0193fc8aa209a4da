//! An invalid transaction is found in any batch: every option value and chunk size gives the same
//! error and keeps the blocks before it.

use blockmill_archive::{
    Archive, ArchiveWriter, Chunk, ChunkLimit, Format, Packed, Want, WriteOptions,
};
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::fault::Cause;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::rule::Rule;
use blockmill_ethereum::seal::SealPolicy;
use blockmill_ethereum::settings::{Settings, SignatureLanes};
use blockmill_ethereum::signing::GROUP_ORDER;
use blockmill_ethereum::transactions::Transaction;
use blockmill_ethereum::{Level, U256};
use blockmill_generate::ethereum::transfers::{FILE, Recipe, generate};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::{NamedOption, OptionSet};
use blockmill_rlp::{Encode, RawList};
use blockmill_store::ChainStore;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Blocks of the chain after block 0, and transfers in each.
const BLOCKS: u64 = 40;
const TRANSFERS: u64 = 10;

/// A way to invalidate the signature of a transaction.
type Corruption = fn(&mut Transaction<'_>);

/// Corruptions, and the rule that each one breaks.
const CORRUPTIONS: [(Rule, Corruption); 7] = [
    (Rule::SignatureR, |tx| tx.r = U256::ZERO),
    (Rule::SignatureR, |tx| tx.r = GROUP_ORDER),
    // the same signature of the mirrored point, but for its high s
    (Rule::SignatureS, |tx| {
        tx.s = GROUP_ORDER - tx.s;
        // v is 35 or 36 and twice the chain's id
        tx.v = U256::from(35 + 36 + 4 * 1_337) - tx.v;
    }),
    (Rule::SignatureV, |tx| tx.v = U256::from(29)),
    (Rule::SignatureChainId, |tx| tx.v += U256::from(2)),
    (Rule::SignatureKey, |tx| {
        let key =
            |r: U256| blockmill_signatures::recover(&[1; 32], &r.to_be_bytes(), &[1; 32], false);
        while key(tx.r).is_ok() {
            tx.r += U256::ONE;
        }
    }),
    (Rule::IntrinsicGas, |tx| tx.gas_limit -= 1),
];

/// A parsed generated chain.
struct Chain {
    folder: tempfile::TempDir,
    spec: ChainSpec,
    headers: Vec<Vec<u8>>,
    bodies: Vec<Vec<u8>>,
}

impl Chain {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let recipe = Recipe { transfers: BLOCKS * TRANSFERS, block_transfers: TRANSFERS, seed: 5 };
        assert_eq!(generate(&recipe, folder.path(), |_| {}).unwrap(), BLOCKS);
        let genesis = std::fs::read_to_string(folder.path().join("genesis.json")).unwrap();
        let spec = ChainSpec::from_genesis_json(&genesis).unwrap();
        let archive = Archive::open(&[folder.path().join(FILE)]).unwrap();
        let want = Want { bodies: true, receipts: false };
        let mut reader = archive.reader(want, ChunkLimit::default(), 0..=u64::MAX).unwrap();
        let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
        assert!(reader.read(&mut packed).unwrap());
        packed.unpack(&mut chunk).unwrap();
        let items =
            |column: &blockmill_archive::Column| column.iter().map(<[u8]>::to_vec).collect();
        let (headers, bodies) = (items(&chunk.headers), items(&chunk.bodies));
        Self { folder, spec, headers, bodies }
    }

    /// A copy of the archive with invalid transactions: block, index, corruption. Roots and parent
    /// hashes match the file.
    fn spoiled(&self, damages: &[(u64, usize, Corruption)]) -> PathBuf {
        self.spoiled_with(damages, |_| {})
    }

    /// A copy with changed headers, too.
    fn spoiled_with(
        &self,
        damages: &[(u64, usize, Corruption)],
        change: impl Fn(&mut Header),
    ) -> PathBuf {
        let mut chunk = Chunk::new();
        let mut parent_hash = None;
        for (number, (header, body)) in (0..).zip(self.headers.iter().zip(&self.bodies)) {
            let mut header = HeaderView::decode(header).unwrap().to_owned();
            let mut raw: Vec<Vec<u8>> = vec![];
            for (place, tx) in BodyView::decode(body).unwrap().transactions().enumerate() {
                let mut tx = tx;
                let of_this = damages.iter().filter(|(b, t, _)| (*b, *t) == (number, place));
                of_this.for_each(|(.., corruption)| corruption(&mut tx));
                raw.push(tx.encode());
            }
            if !raw.is_empty() {
                header.transactions_root =
                    blockmill_trie::ordered_root(raw.iter().map(Vec::as_slice));
            }
            header.parent_hash = parent_hash.unwrap_or(header.parent_hash);
            change(&mut header);
            parent_hash = Some(header.hash());
            let raw: Vec<_> = raw.iter().map(Vec::as_slice).collect();
            let list = RawList(&raw).encode();
            chunk.headers.push(&header.encode());
            chunk.bodies.push(&RawList(&[&list, &[0xc0]]).encode());
        }
        let path = self.folder.path().join("spoiled.rlp");
        if path.exists() {
            std::fs::remove_file(&path).unwrap();
        }
        let mut writer =
            ArchiveWriter::create(Format::RlpExport, &path, &WriteOptions::default()).unwrap();
        writer.append(&chunk).unwrap();
        writer.finish().unwrap();
        path
    }

    /// Imports an archive into a new store. Returns the error, the number of its block, and the
    /// number of the last block in the store.
    fn refusal(&self, path: &Path, with: &[&str], blocks: usize) -> (Cause, u64, Option<u64>) {
        let options = Options {
            spec: Arc::new(self.spec.clone()),
            level: Level::Bodies,
            seal: SealPolicy::OFF,
            settings: Settings::default().with(with).unwrap(),
            threads: 2,
            chunk: ChunkLimit { blocks, ..ChunkLimit::default() },
            from: None,
            until: None,
            partial: false,
            recheck: true,
            trust: vec![],
            caches: Caches::new(None, 1),
            now: None,
            consumer: None,
            cancel: Cancel::new(),
        };
        let store = tempfile::tempdir().unwrap();
        let (chain, _) =
            ChainStore::open(store.path(), &blockmill_store::Options::default()).unwrap();
        let mut sink = Sink::Segments(Box::new(chain));
        let archive = Archive::open(&[path.to_path_buf()]).unwrap();
        let (_, outcome) = import(&archive, &options, &mut sink, |_| {});
        let Err(Error::Fault(fault)) = outcome else { panic!("{with:?}: {outcome:?}") };
        let Sink::Segments(store) = sink else { unreachable!() };
        (fault.cause, fault.block, store.tip().map(|tip| tip.number))
    }
}

/// Settings with different schedules and chunk sizes, as far as this machine supports them.
fn settings() -> Vec<(Vec<&'static str>, usize)> {
    let signatures = SignatureLanes::available().map(|lanes| match lanes {
        SignatureLanes::Scalar => "signatures=scalar",
        SignatureLanes::Avx2 => "signatures=avx2",
        SignatureLanes::Ifma => "signatures=ifma",
    });
    let mut settings = vec![(vec!["stages=serial"], 16)];
    for signatures in signatures {
        for batches in ["sender-batches=block", "sender-batches=chunk"] {
            settings.extend([1, 16, 2_048].map(|blocks| (vec![signatures, batches], blocks)));
        }
    }
    settings
}

/// Every setting rejects transaction `index` of `block` for `rule`, with the same message.
fn assert_refused(chain: &Chain, path: &Path, rule: Rule, block: u64, index: usize) {
    let mut words: Option<String> = None;
    for (with, blocks) in settings() {
        let (cause, number, tip) = chain.refusal(path, &with, blocks);
        let Cause::Rule(violation) = cause else {
            panic!("{with:?}, chunks of {blocks}: {cause:?}")
        };
        let found = (violation.rule, number, violation.transaction, tip);
        let expected = (rule, block, Some(index as u32), Some(block - 1));
        assert_eq!(found, expected, "{with:?}, chunks of {blocks}");
        let text = violation.to_string();
        assert_eq!(*words.get_or_insert(text.clone()), text);
    }
}

#[test]
fn a_spoiled_signature_is_found_wherever_it_stands_in_its_batch() {
    let chain = Chain::new();
    let last = TRANSFERS as usize - 1;
    // in chunks of 16, block 16 is the first of the second and block 31 the last
    let places = [(16, 0), (16, last), (31, 0), (31, last)];
    for (rule, corruption) in CORRUPTIONS {
        for (block, place) in places {
            let path = chain.spoiled(&[(block, place, corruption)]);
            assert_refused(&chain, &path, rule, block, place);
        }
    }
}

#[test]
fn of_two_faults_the_first_in_the_chain_wins() {
    let chain = Chain::new();
    // the error that only the batch finds, with each one that is found before the batch is full
    let nobody = CORRUPTIONS[5];
    let pairs = CORRUPTIONS.into_iter().flat_map(|other| [(nobody, other), (other, nobody)]);
    for ((rule, corruption), (_, other)) in pairs {
        // in one block, and in two blocks of one batch
        let path = chain.spoiled(&[(20, 3, corruption), (20, 4, other)]);
        assert_refused(&chain, &path, rule, 20, 3);
        let path = chain.spoiled(&[(20, 9, corruption), (21, 0, other)]);
        assert_refused(&chain, &path, rule, 20, 9);
    }
}

#[test]
fn of_two_faults_of_a_transaction_the_one_of_the_signature_wins() {
    let chain = Chain::new();
    let (signature, gas) = (CORRUPTIONS[5], CORRUPTIONS[6]);
    for place in [0, 9] {
        let path = chain.spoiled(&[(20, place, gas.1), (20, place, signature.1)]);
        assert_refused(&chain, &path, signature.0, 20, place);
    }
}

#[test]
fn a_signature_of_nobody_wins_against_a_later_block_with_the_wrong_root() {
    let chain = Chain::new();
    let (rule, corruption) = CORRUPTIONS[5];
    let path = chain.spoiled(&[(20, 9, corruption)]);
    let mut bytes = std::fs::read(&path).unwrap();
    // the last byte before the empty list of ommers is of the last signature
    let end = bytes.len() - 2;
    bytes[end] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_refused(&chain, &path, rule, 20, 9);
}

#[test]
fn a_fault_of_a_header_wins_against_one_of_its_transactions() {
    let chain = Chain::new();
    // also if the block before it is in another chunk
    for (_, corruption) in CORRUPTIONS {
        let path = chain.spoiled_with(&[(16, 0, corruption)], |header| {
            if header.number == 16 {
                header.gas_used = header.gas_limit + 1;
            }
        });
        for (with, blocks) in settings() {
            let (cause, block, tip) = chain.refusal(&path, &with, blocks);
            let Cause::Rule(violation) = cause else { panic!("{with:?}, {blocks}: {cause:?}") };
            let found = (violation.rule, violation.transaction, block, tip);
            assert_eq!(found, (Rule::GasUsed, None, 16, Some(15)));
        }
    }
}

#[test]
fn the_chain_itself_is_good() {
    let chain = Chain::new();
    let (rule, corruption) = CORRUPTIONS[0];
    let path = chain.spoiled(&[(BLOCKS, 9, corruption)]);
    assert_refused(&chain, &path, rule, BLOCKS, 9);
}
