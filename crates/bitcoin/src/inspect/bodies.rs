//! Decodes every body of block files, and checks the rules that need no coins.

use crate::BlockHash;
use crate::body::Bodies;
use crate::body::reader::BlockReader;
use crate::fault::Cause;
use crate::index::{Found, Tree};
use crate::params::{Params, Rules};
use crate::run::TrailingBytes;
use crate::script;
use crate::types::{Block, hash_blocks};
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::ManySha256;
use blockmill_pipeline::live::Live;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Maximum number of listed faults: a file of noise has one in every block.
const MAX_LISTED: usize = 100;
/// Limits of a batch, in bytes and blocks.
const BATCH: (u64, usize) = (1 << 20, 512);
/// Number of files that a thread keeps open: batches are in the order of the files.
const OPEN_FILES: usize = 4;

/// A bad body.
#[derive(Debug)]
pub struct BodyFault {
    /// The file of the block.
    pub file: PathBuf,
    /// Its offset.
    pub offset: u64,
    /// Its hash.
    pub hash: BlockHash,
    /// Its height, if it is linked.
    pub height: Option<u32>,
    /// The cause.
    pub cause: Cause,
}

/// The result of checking all bodies.
#[derive(Debug, Default)]
pub struct CheckedBodies {
    /// Number of good blocks.
    pub blocks: u64,
    /// Number of their transactions.
    pub transactions: u64,
    /// Number of their inputs, without coinbases.
    pub inputs: u64,
    /// Number of their outputs.
    pub outputs: u64,
    /// Records that are longer than their blocks.
    pub(crate) trailing: Vec<TrailingBytes>,
    /// Faults in the order of the files; at most 100.
    pub faults: Vec<BodyFault>,
    /// Number of bad bodies.
    pub fault_count: u64,
}

impl CheckedBodies {
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.transactions += other.transactions;
        self.inputs += other.inputs;
        self.outputs += other.outputs;
        self.trailing.extend(other.trailing);
        self.faults.extend(other.faults);
        self.fault_count += other.fault_count;
    }
}

/// Checks the bodies of all records of `tree`. Rules that depend on the height are checked for
/// linked blocks only.
pub(super) fn check(
    files: &BlockFiles,
    tree: &Tree,
    params: Option<&Params>,
    threads: usize,
    live: &Live,
) -> CheckedBodies {
    live.enter("verify bodies", tree.found().iter().map(|found| u64::from(found.size)).sum());
    let batches = batches(tree.found());
    let nodes: HashMap<&BlockHash, u32> =
        (0..tree.len()).filter(|_| params.is_some()).map(|node| (tree.hash(node), node)).collect();
    let (next, all) = (AtomicUsize::new(0), Mutex::new(CheckedBodies::default()));
    let work = || {
        let mut checker = Checker::new(files, tree, params, &nodes);
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            checker.check(batch.clone());
            live.advance(
                tree.found()[batch.clone()].iter().map(|found| u64::from(found.size)).sum(),
            );
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).add(checker.checked);
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(batches.len()) {
            // if the system has no thread left, this thread does the work
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.faults.sort_by(|a, b| (&a.file, a.offset).cmp(&(&b.file, b.offset)));
    all.faults.truncate(MAX_LISTED);
    all
}

/// Batches of records.
fn batches(found: &[Found]) -> Vec<Range<usize>> {
    let (mut batches, mut start, mut bytes) = (vec![], 0, 0);
    for (at, one) in found.iter().enumerate() {
        bytes += u64::from(one.size);
        if at > start && (bytes > BATCH.0 || at - start == BATCH.1) {
            batches.push(start..at);
            (start, bytes) = (at, one.size.into());
        }
    }
    if start < found.len() {
        batches.push(start..found.len());
    }
    batches
}

/// Checks one batch after another. Keeps its memory for the next one.
struct Checker<'a> {
    files: &'a BlockFiles,
    tree: &'a Tree,
    params: Option<&'a Params>,
    nodes: &'a HashMap<&'a BlockHash, u32>,
    hasher: ManySha256,
    reader: BlockReader<'a>,
    blocks: Vec<Block>,
    bodies: Bodies,
    checked: CheckedBodies,
}

impl<'a> Checker<'a> {
    fn new(
        files: &'a BlockFiles,
        tree: &'a Tree,
        params: Option<&'a Params>,
        nodes: &'a HashMap<&'a BlockHash, u32>,
    ) -> Self {
        let hasher = ManySha256::detect();
        Self {
            files,
            tree,
            params,
            nodes,
            hasher,
            reader: BlockReader::new(files, OPEN_FILES),
            blocks: vec![],
            bodies: Bodies::new(hasher),
            checked: CheckedBodies::default(),
        }
    }

    fn check(&mut self, records: Range<usize>) {
        let batch = &self.tree.found()[records.clone()];
        if self.blocks.len() < batch.len() {
            self.blocks.resize_with(batch.len(), Block::default);
        }
        let locations: Vec<_> = batch.iter().map(Found::location).collect();
        let unread = self.reader.read(&locations, &mut self.blocks);
        let mut unread = unread.into_iter().peekable();
        // blocks that can be decoded move to the front
        let mut good = Vec::with_capacity(batch.len());
        for (i, found) in batch.iter().enumerate() {
            self.blocks.swap(good.len(), i);
            let parsed = match unread.next_if(|(at, _)| *at == i) {
                Some((_, error)) => Err(Cause::Archive(error)),
                None => self.blocks[good.len()].parse_record().map_err(Cause::Encoding),
            };
            match parsed {
                Ok(trailing) => {
                    good.push(found);
                    if trailing > 0 {
                        let record = (records.start + i) as u32;
                        self.checked.trailing.push(TrailingBytes { record, bytes: trailing });
                    }
                }
                Err(cause) => self.refuse(found, cause),
            }
        }
        hash_blocks(&mut self.blocks[..good.len()], &self.hasher);
        for (i, found) in good.into_iter().enumerate() {
            match self.check_body(i, found) {
                Ok(()) => self.count(i),
                Err(cause) => self.refuse(found, cause),
            }
        }
    }

    fn check_body(&mut self, i: usize, found: &Found) -> Result<(), Cause> {
        let block = &self.blocks[i];
        if block.hash != found.hash {
            return Err(Cause::Changed { expected: found.hash, found: block.hash });
        }
        let node = self.nodes.get(&found.hash);
        let (Some(params), Some(node)) = (self.params, node) else {
            let rules = Rules::of_no_place();
            return self.bodies.check(block, &rules, u32::MAX).map(|_| ()).map_err(Cause::Rule);
        };
        let height = self.tree.height(*node);
        let past = self.tree.median_time(self.tree.parent(*node));
        // no rule of bodies depends on the block at the height of BIP34
        let rules = params.rules(height, &found.hash, None);
        self.bodies.check(block, &rules, past).map_err(Cause::Rule)?;
        match &params.signet_challenge {
            Some(challenge) if height > 0 => {
                script::check_solution(block, challenge).map_err(Cause::Solution)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, i: usize) {
        let block = &self.blocks[i];
        self.checked.blocks += 1;
        self.checked.transactions += block.transactions.len() as u64;
        self.checked.inputs += (block.inputs.len() as u64).saturating_sub(1);
        self.checked.outputs += block.outputs.len() as u64;
    }

    fn refuse(&mut self, found: &Found, cause: Cause) {
        self.checked.fault_count += 1;
        // the first faults of all are among the first ones of each thread
        if self.checked.faults.len() < MAX_LISTED {
            let file = self.files.files().get(found.file as usize);
            self.checked.faults.push(BodyFault {
                file: file.map(|file| file.path().to_path_buf()).unwrap_or_default(),
                offset: found.offset,
                hash: found.hash,
                height: self.nodes.get(&found.hash).map(|node| self.tree.height(*node)),
                cause,
            });
        }
    }
}
