//! The place where the headers of all shards come together, and then the verdicts on their bodies.

use super::consistent;
use super::documents::{
    Bodies, Coins, Execution, Headers, Hex, Looked, Record, RemoteFault, Row, SCHEMA, Salt, Source,
    Steps, Table,
};
use super::proof::Parts;
use crate::execute::Chain;
use crate::fault::{Cause, Error, fault_of_block};
use crate::import::{assumed_height, assumed_valid, mark_invalid};
use crate::index::pass1::{self, Index};
use crate::index::path::Path;
use crate::index::{Found, GENESIS, Tree, shortfalls};
use crate::options::Options;
use crate::run::{Run, Tip};
use crate::{BlockHash, Level};
use blockmill_archive::blkdat::BlockFiles;
use std::collections::HashMap;

/// Where a record stands: its file, as an index of all files, and its first byte.
type At = (u32, u64);

/// Shards on their way to one verdict. Ask for [`tables`](Self::tables), give back what
/// [`bodies`](super::bodies) says of them, until there are none; then [`end`](Self::end).
pub struct Merger<'a> {
    files: &'a BlockFiles,
    options: &'a Options,
    /// For each shard, which of all files its files are.
    shards: Vec<Vec<u32>>,
    /// For each shard, its undo files; where in them records have undo data.
    undo_files: Vec<Vec<Source>>,
    undo: HashMap<At, (u32, u32)>,
    /// The sum, at level `execution`.
    parts: Option<Parts>,
    index: Index,
    looked: HashMap<At, Looked>,
    /// Blocks that were found to be bad, in the order of their finding, and the first of them.
    invalid: Vec<BlockHash>,
    fault: Option<Error>,
    /// Was the first block refused, on which all others rest?
    is_over: bool,
    run: Run,
}

impl<'a> Merger<'a> {
    /// Links the headers of `shards` and chooses the best chain. `files` are the files of all shards,
    /// of which are read: bytes between records, the headers of doubtful records, and blocks near
    /// gaps and the best tip, whose records may hide others.
    ///
    /// # Errors
    /// The level needs coins, see [`by_multiset`](Self::with_multiset); a file of a shard is not among `files`;
    /// the first block has another height than was given.
    pub fn new(
        files: &'a BlockFiles,
        options: &'a Options,
        shards: &[Headers],
    ) -> Result<Self, Error> {
        match options.level {
            Level::Headers | Level::Bodies => Self::begin(files, options, shards),
            Level::Execution => Err(Error::ShardsHaveNoCoins),
        }
    }

    /// The same at level `execution`: a sum over all coins proves undo data, and the unspent coins
    /// of the shard `coins`. Its salt is drawn now, or was `drawn` for the same shards before. Who
    /// can still change a file must not know it.
    ///
    /// # Errors
    /// As in [`new`](Self::new); the salt was drawn for others; the system has no random bytes.
    pub fn with_multiset(
        files: &'a BlockFiles,
        options: &'a Options,
        shards: &[Headers],
        coins: &Coins,
        drawn: Option<Salt>,
    ) -> Result<Self, Error> {
        let parts = Some(Parts::new(shards, coins, options.assume_valid.as_ref(), drawn)?);
        Ok(Self { parts, ..Self::begin(files, options, shards)? })
    }

    fn begin(
        files: &'a BlockFiles,
        options: &'a Options,
        shards: &[Headers],
    ) -> Result<Self, Error> {
        let mut index = Index::empty(&options.params);
        let (mut numbers, mut found) = (vec![], vec![]);
        let mut undo = HashMap::new();
        let owned: Vec<Vec<u32>> =
            shards.iter().map(|shard| files_of(files, shard)).collect::<Result<_, _>>()?;
        let pairs: Vec<_> = shards.iter().zip(owned.iter().map(Vec::as_slice)).collect();
        consistent::headers(files, &pairs, options)?;
        for (shard, own) in shards.iter().zip(owned) {
            for record in &shard.records {
                let file = own.get(record.file as usize).copied().unwrap_or(u32::MAX);
                found.push(record.found(file));
                undo.extend(record.undo.map(|undo| ((file, record.offset), undo)));
            }
            for (file, damage) in &shard.damage {
                index.damage.extend(own.get(*file as usize).map(|file| (*file, *damage)));
            }
            index.unlisted += shard.unlisted;
            numbers.push(own);
        }
        index.damage.sort_by_key(|(file, damage)| (*file, damage.offset));
        let mut run = Run::default();
        run.counts.files = files.files().len() as u64;
        run.counts.file_bytes = files.bytes();
        let mut merge = Self {
            files,
            options,
            shards: numbers,
            undo_files: shards.iter().map(|shard| shard.undo.clone()).collect(),
            undo,
            parts: None,
            index,
            looked: HashMap::new(),
            invalid: vec![],
            fault: None,
            is_over: false,
            run,
        };
        merge.run.counts.blocks = found.len() as u64;
        merge.index.tree = Tree::build(&options.params, found, options.now);
        pass1::choose(files, options, None, &mut merge.index, &mut merge.run)?;
        Ok(merge)
    }

    /// Builds the tree of these records, among them some that were hidden.
    fn link(&mut self, found: Vec<Found>) -> Result<(), Error> {
        let Self { index, options, files, run, .. } = self;
        run.counts.blocks = found.len() as u64;
        index.tree = Tree::build(&options.params, found, options.now);
        pass1::anchor(files, options, index)?;
        pass1::note_best(&index.tree, run);
        mark_invalid(&mut index.tree, &self.invalid);
        Ok(())
    }

    /// For each shard, the blocks of the best chain that nobody has looked at yet. None anywhere
    /// when the verdict is there.
    pub fn tables(&mut self) -> Result<Vec<Table>, Error> {
        let mut tables = vec![Table::default(); self.shards.len()];
        if self.options.level == Level::Headers || self.is_over {
            return Ok(tables);
        }
        let path = loop {
            let path = Path::best(&self.index.tree);
            if !self.settle(&path)? {
                break path;
            }
        };
        if self.is_over {
            return Ok(tables);
        }
        let (tree, options) = (&self.index.tree, self.options);
        let chain = Chain { tree, path: &path, params: &options.params };
        for height in self.asked(&path) {
            let Some(found) = tree.record(path.nodes[height]) else { continue };
            if self.looked.contains_key(&at(found)) {
                continue;
            }
            let holds = |shard: &Vec<u32>| shard.iter().position(|file| *file == found.file);
            let shard =
                self.shards.iter().enumerate().find_map(|(i, shard)| Some((i, holds(shard)?)));
            let Some((shard, file)) = shard else { continue };
            let Found { offset, size, header, .. } = *found;
            let (file, header) = (file as u32, Hex(header));
            let undo = self.undo.get(&at(found)).copied();
            if tables[shard].rows.is_empty() {
                tables[shard].undo.clone_from(&self.undo_files[shard]);
            }
            tables[shard].rows.push(Row {
                record: Record { file, offset, size, header, announced: None, undo },
                height: chain.height(height as u32),
                median_time_past: chain.median_time_past(height as u32),
            });
        }
        Ok(tables)
    }

    /// What tables ask of blocks at level `execution`; none at the others.
    ///
    /// # Errors
    /// The block whose chain is assumed valid is in none of the files.
    pub fn execution(&self) -> Result<Option<Execution>, Error> {
        let Some(parts) = &self.parts else { return Ok(None) };
        let (tree, options) = (&self.index.tree, self.options);
        let path = Path::best(tree);
        Ok(Some(Execution {
            schema: SCHEMA,
            chain: options.params.name.into(),
            salt: parts.salt,
            assumed_valid: assumed_height(tree, &path, assumed_valid(tree, options)?),
            median_times: Steps(path.median_times),
        }))
    }

    /// Are the unspent coins still to be added to the sum?
    pub fn lacks_coins(&self) -> bool {
        !self.is_over && self.fault.is_none() && self.parts.as_ref().is_some_and(Parts::lack_coins)
    }

    /// Takes what unspent coins come to.
    ///
    /// # Errors
    /// They are others, or their part is of another sum.
    pub fn take_coins(&mut self, coins: &Coins) -> Result<(), Error> {
        self.parts.as_mut().map_or(Ok(()), |parts| parts.take_coins(coins))
    }

    /// Takes what was found out about a table of shard number `shard`; the same once more changes
    /// nothing.
    ///
    /// # Errors
    /// It has no part of this sum, or one of blocks of which another one is there.
    pub fn take(&mut self, shard: usize, bodies: Bodies) -> Result<(), Error> {
        let Some(files) = self.shards.get(shard) else { return Ok(()) };
        let first = files.first().and_then(|file| self.files.files().get(*file as usize));
        if let Some(first) = first {
            consistent::bodies(first, |row| self.size_of(files, row), &bodies)?;
        }
        if let Some(parts) = &mut self.parts {
            let at = |row: &Looked| Some((*files.get(row.file as usize)?, row.offset));
            let known = |row: &&Looked| at(row).is_some_and(|at| self.looked.contains_key(&at));
            match bodies.rows.iter().filter(known).count() {
                0 => parts.take(&bodies)?,
                known if known == bodies.rows.len() => return Ok(()),
                _ => return Err(Error::OtherDocuments("one part of each block")),
            }
        }
        for looked in bodies.rows {
            if let Some(file) = files.get(looked.file as usize) {
                self.looked.insert((*file, looked.offset), looked);
            }
        }
        Ok(())
    }

    /// Bytes of the record of a row of the shard that has these files.
    fn size_of(&self, files: &[u32], row: &Looked) -> Option<u32> {
        let at = (*files.get(row.file as usize)?, row.offset);
        let found = self.index.tree.found();
        let record = found.binary_search_by_key(&at, |found| (found.file, found.offset)).ok()?;
        Some(found[record].size)
    }

    /// The heights of the path, from its first block on, that are to be verified.
    fn asked(&self, path: &Path) -> std::ops::Range<usize> {
        let tree = &self.index.tree;
        let begin = usize::from(tree.anchor().is_none());
        let end = self.options.asked(tree.base()).min(path.nodes.len());
        begin.min(end)..end
    }

    /// Deals with the first block of `path` that is bad, as a single run does. True when there may
    /// be another best chain, or another copy, to look at.
    fn settle(&mut self, path: &Path) -> Result<bool, Error> {
        for height in self.asked(path) {
            let node = path.nodes[height];
            let Some(found) = self.index.tree.record(node) else { continue };
            match self.looked.get(&at(found)).map(|looked| &looked.bad) {
                None => return Ok(false),
                Some(None) => {}
                Some(Some(remote)) => {
                    let remote = remote.clone();
                    return Ok(self.refuse(node, remote));
                }
            }
        }
        self.look_behind_blocks(path)
    }

    /// Takes another copy of a bad block, or takes the block out of the choice. False when that
    /// cannot be.
    fn refuse(&mut self, node: u32, remote: RemoteFault) -> bool {
        let damage = remote.details.is_damage;
        let cause = Cause::Remote(Box::new(remote));
        let fault = fault_of_block(self.files, &self.index.tree, node, cause);
        let copied = damage && self.index.tree.use_copy(node);
        self.is_over = !copied && node == GENESIS;
        if !copied && !self.is_over {
            self.index.tree.mark_invalid(node);
            self.invalid.extend(fault.hash);
        }
        match &self.fault {
            None if !copied => self.fault = Some(fault.into()),
            _ => self.run.damage.push(fault.to_string()),
        }
        !self.is_over
    }

    /// Links the blocks that stand in the bytes which records of `path` have to spare. True when
    /// there are any.
    fn look_behind_blocks(&mut self, path: &Path) -> Result<bool, Error> {
        let (mut sizes, mut more) = (vec![], vec![]);
        for height in self.asked(path) {
            let node = path.nodes[height];
            let Some(found) = self.index.tree.record(node).copied() else { continue };
            let Some(looked) = self.looked.get_mut(&at(&found)) else { continue };
            let (spare, hidden) =
                (std::mem::take(&mut looked.spare), std::mem::take(&mut looked.hidden));
            if spare > 0 {
                let size = self.index.note_spare(&found, spare, &looked.damage);
                sizes.push((self.index.tree.record_number(node), size));
                more.extend(hidden.iter().map(|record| record.found(found.file)));
            }
        }
        if more.is_empty() {
            return Ok(false);
        }
        let tree = std::mem::replace(&mut self.index.tree, Tree::empty(&self.options.params));
        let mut found = tree.into_found();
        for (record, size) in sizes {
            found[record as usize].size = size;
        }
        found.append(&mut more);
        self.link(found)?;
        Ok(true)
    }

    /// The verdict, as that of a single run over all files.
    pub fn end(mut self) -> (Run, Result<(), Error>) {
        let path = Path::best(&self.index.tree);
        let (tree, options) = (&self.index.tree, self.options);
        let asked = self.asked(&path);
        let first = match options.level {
            Level::Headers => usize::from(tree.anchor().is_none()),
            Level::Bodies | Level::Execution => asked.start,
        };
        if let Some(last) = (first..asked.end).next_back() {
            let base = tree.base();
            self.run.blocks = (asked.end - first) as u64;
            self.run.range = Some((base + first as u32, base + last as u32));
            let hash = *tree.hash(path.nodes[last]);
            self.run.tip = Some(Tip { height: base + last as u32, hash });
        }
        for height in asked {
            let looked = tree.record(path.nodes[height]).and_then(|it| self.looked.get(&at(it)));
            self.run.transactions += looked.map_or(0, |looked| looked.transactions);
            self.run.inputs += looked.map_or(0, |looked| looked.inputs);
        }
        let outcome = match self.fault.take() {
            Some(fault) => Err(fault),
            None if options.level > Level::Headers && self.is_empty() => Err(Error::Empty),
            None => self.prove(&path),
        };
        shortfalls::judge(self.files, options, &self.index, &mut self.run);
        match (outcome, pass1::refused_above(&self.index.tree, self.files)) {
            (Ok(()), Some(refused)) => (self.run, Err(refused.into())),
            (outcome, _) => (self.run, outcome),
        }
    }

    /// Takes what all parts of the sum prove.
    fn prove(&mut self, path: &Path) -> Result<(), Error> {
        let Some(parts) = self.parts.take() else { return Ok(()) };
        let (tree, params) = (&self.index.tree, &self.options.params);
        let hash = |height: u32| path.nodes.get(height as usize).map(|node| *tree.hash(*node));
        let hash = |height: u32| hash(height).unwrap_or_default();
        let asked = self.asked(path);
        let tip = hash(asked.end.saturating_sub(1) as u32);
        let (proof, fault) = parts.end(asked.len() as u64, tip, params, hash)?;
        if let Some(fault) = fault
            && let Some(node) = path.nodes.get(fault.height as usize)
        {
            let cause = Cause::Remote(Box::new(fault.remote));
            return Err(fault_of_block(self.files, tree, *node, cause).into());
        }
        self.run.coins = proof.unspent;
        self.run.proof = Some(proof);
        Ok(())
    }

    /// Does no block follow the genesis block?
    fn is_empty(&self) -> bool {
        self.run.anchor.is_none() && self.run.best.is_none_or(|best| best.height == 0)
    }
}

fn at(found: &Found) -> At {
    (found.file, found.offset)
}

/// Which of `files` the files of a shard are.
fn files_of(files: &BlockFiles, shard: &Headers) -> Result<Vec<u32>, Error> {
    let find = |path: &std::path::Path| files.files().iter().position(|file| file.path() == path);
    let number = |source: &super::documents::Source| match find(&source.path) {
        Some(number) => Ok(number as u32),
        None => Err(Error::OtherFiles { found: source.path.clone() }),
    };
    shard.sources.iter().map(number).collect()
}
