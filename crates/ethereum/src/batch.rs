//! One chunk of blocks on its way through the stages: everything about it that can be checked
//! without the chunks before it, so that any worker may take it.

mod bodies;
mod headers;

pub use headers::{ChainRules, HeaderChecks};

use crate::body::BodyView;
use crate::error::{Rule, Violation};
use crate::execute::PreparedBlock;
use crate::execute::evm::{Ahead, Foresight};
use crate::execute::history::Foreseen;
use crate::execution::ExecutedBlock;
use crate::fault::{Cause, Fault};
use crate::header::ethash::{self, Caches, EPOCH_LENGTH, Seal};
use crate::header::seal::{SealMode, SealPolicy};
use crate::header::{EMPTY_OMMERS, HeaderView};
use crate::link::Linked;
use crate::option_table::Plan;
use crate::params::ChainSpec;
use crate::{Address, Hash, Level, U256};
use blockmill_archive::{Chunk, Packed, Part, Want};
use blockmill_hashes::ManyKeccak;
use blockmill_pipeline::{Made, NotMade};
use blockmill_verdict::Hex;
use bodies::BodyMemory;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The last epoch that a cache is generated for, as in go-ethereum: a made-up block number must not
/// cost gigabytes. It ends with block 61,439,999; proof of work ended before block 16,000,000.
const LAST_EPOCH: u64 = 2047;

/// Busy times of one batch in the stages before writing.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchTimes {
    /// Reading.
    pub read: Duration,
    /// Decompressing and decoding.
    pub decode: Duration,
    /// Hashing and verifying.
    pub validate: Duration,
    /// Of which hashing what was signed, and recovering the keys.
    pub senders: Duration,
    /// Executing transactions before their turn.
    pub ahead: Duration,
}

/// Buffers of one chunk; they circulate through the stages and are never freed in between.
#[derive(Default)]
pub struct Batch {
    /// As read from disk.
    pub(crate) packed: Packed,
    /// Unpacked.
    pub(crate) chunk: Chunk,
    /// Hash of each header.
    pub(crate) hashes: Vec<Hash>,
    /// Difficulty of each header.
    pub(crate) difficulties: Vec<U256>,
    /// Number of the first header.
    pub(crate) first_number: u64,
    /// How many blocks, from the first one on, have passed every check so far.
    pub(crate) good: usize,
    /// How many headers, from the first one on, have passed every check so far.
    pub(crate) good_headers: usize,
    /// What is wrong with block `good`.
    pub(crate) fault: Option<Fault>,
    /// Seals that were checked.
    pub(crate) seals_checked: u64,
    /// Headers under proof of work whose seals were not.
    pub(crate) seals_left: u64,
    /// Transactions in the bodies that were checked.
    pub(crate) transactions: u64,
    /// Senders that were recovered.
    pub(crate) senders: u64,
    /// Busy times.
    pub(crate) times: BatchTimes,
    body_memory: BodyMemory,
    /// At level execution, what is executed: at least the blocks up to `good`.
    pub(crate) prepared: Vec<PreparedBlock>,
    /// What was executed of the new ones before its turn.
    pub(crate) ahead: Vec<Vec<Option<Box<Ahead>>>>,
    /// Slots that were read ahead because calls are expected to come to them.
    pub(crate) foreseen: Foreseen,
    /// What has become of them.
    pub(crate) foresight: Foresight,
    /// How many of these hash much.
    pub(crate) hashing_ahead: usize,
    /// What the link made of it, until it is written.
    pub(crate) linked: Linked,
    /// At level execution, what the new blocks did.
    pub(crate) executed: Vec<ExecutedBlock>,
    /// A state on disk is that behind the last new block, and waits to be written.
    pub(crate) settles: bool,
    /// Who signed the transactions, where that is kept.
    pub(crate) signers: Vec<Address>,
    /// What was made of the new blocks before they are written.
    pub(crate) made: Option<Result<Made, NotMade>>,
}

impl Batch {
    /// Number of block `i`, as far as the containers and the first header can tell.
    pub(crate) fn number(&self, i: usize) -> u64 {
        self.first_number.saturating_add(i as u64)
    }

    /// Does header `i` carry a seal? The genesis block has none, nor has any under proof of stake.
    fn is_mined(&self, i: usize) -> bool {
        self.number(i) > 0 && !self.difficulties[i].is_zero()
    }

    /// Keeps the blocks before `i` only, and says why.
    pub(crate) fn fail(&mut self, i: usize, part: Part, cause: Cause) {
        if i >= self.good && self.fault.is_some() {
            return;
        }
        self.good = i;
        self.fault = Some(Fault {
            block: self.number(i),
            hash: self.hashes.get(i).copied(),
            location: self.chunk.location(part, i),
            cause,
        });
    }

    /// True when the fault leaves in doubt the last good block as well.
    pub(crate) fn doubts_last_good(&self) -> bool {
        self.fault.as_ref().is_some_and(Fault::doubts_previous)
    }

    /// Header `i`, decoded again; the checks have decoded it before.
    pub(crate) fn header(&self, i: usize) -> Result<HeaderView<'_>, blockmill_rlp::Error> {
        HeaderView::decode(self.chunk.headers.get(i))
    }
}

/// The checks of one run; shared by all workers.
pub(crate) struct Checks<'a> {
    pub spec: &'a ChainSpec,
    pub level: Level,
    pub want: Want,
    pub headers: &'a dyn HeaderChecks,
    pub seal: SealPolicy,
    pub plan: Plan,
    pub caches: &'a Arc<Caches>,
    pub hasher: ManyKeccak,
    /// The time of the run, in seconds since 1970.
    pub now: Option<u64>,
    /// True when the blocks were verified before, so that only their content is compared.
    pub known: bool,
    /// Leaves bodies and seals to [`Checks::check_later`].
    pub content_later: bool,
    /// Keeps who signed the transactions.
    pub keep_signers: bool,
}

impl Checks<'_> {
    /// Unpacks, decodes, hashes and verifies one batch as far as it goes by itself. The first
    /// header is compared with its parent later, in order.
    pub fn check(&self, batch: &mut Batch) {
        let start = Instant::now();
        batch.fault = None;
        (batch.seals_checked, batch.seals_left) = (0, 0);
        batch.transactions = 0;
        batch.senders = 0;
        batch.times.senders = Duration::ZERO;
        let unpacked = batch.packed.unpack(&mut batch.chunk);
        batch.good = match &unpacked {
            Ok(()) => batch.chunk.blocks(),
            Err(_) => complete_blocks(&batch.chunk, self.want),
        };
        batch.first_number = match batch.chunk.first {
            Some(number) => number,
            None if batch.good > 0 => batch.header(0).map_or(0, |header| header.number),
            None => 0,
        };
        let decoded = Instant::now();
        batch.times.decode = decoded - start;
        self.hash(batch);
        batch.times.validate = decoded.elapsed();
        if let Err(error) = unpacked {
            batch.fail(batch.good, Part::Header, Cause::Archive(error));
        }
        self.check_headers(batch);
        let headers_end = Instant::now();
        batch.good_headers = batch.good;
        self.check_stated_hashes(batch);
        if !self.content_later {
            self.check_content(batch);
        }
        batch.times.validate += headers_end.elapsed();
    }

    /// Checks what [`Checks::check`] left.
    pub fn check_later(&self, batch: &mut Batch) {
        if self.content_later {
            self.check_content(batch);
        }
    }

    /// Bodies and seals.
    fn check_content(&self, batch: &mut Batch) {
        if self.level >= Level::Bodies {
            self.check_bodies(batch);
        }
        self.check_seals(batch);
    }

    fn hash(&self, batch: &mut Batch) {
        let headers = &batch.chunk.headers;
        batch.hashes.resize(headers.len(), [0; 32]);
        self.hasher.keccak256_column(&headers.bytes, &headers.ends, &mut batch.hashes);
    }

    /// Compares the hashes that an archive states with those of its headers.
    fn check_stated_hashes(&self, batch: &mut Batch) {
        let stated = &batch.chunk.stated_hashes;
        let differs = stated.iter().zip(&batch.hashes).take(batch.good).position(|(s, h)| s != h);
        if let Some(i) = differs {
            let violation =
                Violation::new(Rule::StatedHash, Hex(&stated[i]), Hex(&batch.hashes[i]));
            batch.fail(i, Part::Header, Cause::Rule(violation));
        }
    }

    /// Checks the seals of the chosen headers, and of the ommers of all blocks where all are asked.
    fn check_seals(&self, batch: &mut Batch) {
        if self.known {
            return;
        }
        if self.seal.mode == SealMode::Off {
            let mined = (0..batch.good).filter(|i| batch.is_mined(*i)).count();
            batch.seals_left = mined as u64;
            return;
        }
        let mut seals: Vec<Seal> = vec![];
        let mut owners: Vec<(usize, Part)> = vec![];
        let mut add = |i, part, header: &HeaderView<'_>| {
            seals.push(Seal {
                seal_hash: header.seal_hash(),
                nonce: header.nonce(),
                mix_hash: *header.mix_hash,
                difficulty: header.difficulty,
                number: header.number,
            });
            owners.push((i, part));
        };
        for i in 0..batch.good {
            if !batch.is_mined(i) {
                continue;
            }
            if !self.seal.selects(batch.number(i)) {
                batch.seals_left += 1;
                continue;
            }
            // decoded and compared before
            let Ok(header) = batch.header(i) else { continue };
            add(i, Part::Header, &header);
            if *header.ommers_hash == EMPTY_OMMERS || i >= batch.chunk.bodies.len() {
                continue;
            }
            let Ok(body) = BodyView::decode(batch.chunk.bodies.get(i)) else { continue };
            body.ommers().for_each(|ommer| add(i, Part::Body, &ommer));
        }
        batch.seals_checked = seals.len() as u64;
        if let Some((index, violation)) = self.first_wrong_seal(&seals) {
            let (i, part) = owners[index];
            batch.fail(i, part, Cause::Rule(violation));
        }
    }

    /// Checks seals, epoch by epoch: consecutive ones share a cache.
    fn first_wrong_seal(&self, seals: &[Seal]) -> Option<(usize, Violation)> {
        let epoch = |seal: &Seal| ethash::epoch_of(seal.number);
        let mut verdicts = vec![];
        let mut before = 0;
        for of_epoch in seals.chunk_by(|a, b| epoch(a) == epoch(b)) {
            let (first, last) = (&of_epoch[0], &of_epoch[of_epoch.len() - 1]);
            if epoch(first) > LAST_EPOCH {
                let expected = format!("at most {}", (LAST_EPOCH + 1) * EPOCH_LENGTH - 1);
                let violation = Violation::new(Rule::SealEpoch, expected, first.number);
                return Some((before, violation));
            }
            if last.number % EPOCH_LENGTH > EPOCH_LENGTH * 3 / 4 {
                self.caches.prefetch(epoch(last) + 1);
            }
            let cache = match self.caches.get(epoch(first)) {
                Ok(cache) => cache,
                Err(error) => return Some((before, error.into())),
            };
            ethash::check_seals(&cache, of_epoch, &mut verdicts);
            let wrong = verdicts.iter().enumerate().find_map(|(i, v)| Some((i, v.err()?)));
            if let Some((i, error)) = wrong {
                return Some((before + i, error.into()));
            }
            before += of_epoch.len();
        }
        None
    }
}

/// How many blocks were unpacked whole before an error. No receipts count as none yet: those of
/// the first block may be what is damaged.
fn complete_blocks(chunk: &Chunk, want: Want) -> usize {
    let mut blocks = chunk.headers.len();
    if want.bodies {
        blocks = blocks.min(chunk.bodies.len());
    }
    if want.receipts {
        blocks = blocks.min(chunk.receipts.len());
    }
    if !chunk.total_difficulties.is_empty() {
        blocks = blocks.min(chunk.total_difficulties.len());
    }
    blocks
}
