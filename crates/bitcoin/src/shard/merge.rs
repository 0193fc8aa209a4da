//! Merges shards: builds the tree of all headers, returns tables of the bodies to verify, and takes
//! their results. `verdict` evaluates the results.

mod verdict;

use super::consistent;
use super::documents::{
    Bodies, BodyResult, Coins, DeltaEncoded, Execution, Headers, Hex, Record, Row, SCHEMA, Salt,
    SourceFile, Table,
};
use super::proof::MultisetMerge;
use crate::error::Error;
use crate::execute::Chain;
use crate::import::{assumed_height, assumed_valid, mark_invalid};
use crate::index::pass1::{self, Index};
use crate::index::path::Path;
use crate::index::{Found, Tree};
use crate::options::Options;
use crate::run::Run;
use crate::{BlockHash, Level};
use blockmill_archive::blkdat::BlockFiles;
use std::collections::HashMap;

/// Position of a record: the index of its file among all files, and the offset of its block.
type Position = (u32, u64);

/// Merges shards into one verdict. Call [`tables`](Self::tables), pass the results of
/// [`bodies`](super::bodies) to [`add_bodies`](Self::add_bodies), repeat until all tables are
/// empty, then call [`finish`](Self::finish).
pub struct Merger<'a> {
    files: &'a BlockFiles,
    options: &'a Options,
    /// For each shard, the indices of its files among all files.
    shards: Vec<Vec<u32>>,
    /// For each shard, its undo files.
    undo_files: Vec<Vec<SourceFile>>,
    /// For each record, the position of its undo data: the index of the undo file in the shard, and
    /// the offset.
    undo: HashMap<Position, (u32, u32)>,
    /// The coin multiset hash, at level `execution`.
    multiset: Option<MultisetMerge>,
    index: Index,
    results: HashMap<Position, BodyResult>,
    /// Bad blocks, in the order in which they were found.
    invalid: Vec<BlockHash>,
    /// The fault of the first bad block.
    fault: Option<Error>,
    /// Whether the first block is bad, on which all others are based.
    is_over: bool,
    run: Run,
}

impl<'a> Merger<'a> {
    /// Links the headers of `shards` and chooses the best chain. `files` are the files of all
    /// shards. Of their content, this reads bytes between records, the headers of doubtful records,
    /// and blocks near gaps and the best tip, which may hide other records.
    ///
    /// # Errors
    /// Returns [`Error::ShardsHaveNoCoins`] at level `execution`, see
    /// [`with_multiset`](Self::with_multiset); [`Error::OtherFiles`] if a file of a shard is not
    /// among `files`; [`Error::OtherHeight`] if the first block has not the given height;
    /// [`Error::Inconsistent`] if a document contradicts itself or its file.
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

    /// Links the headers of `shards` at level `execution`: a multiset hash proves undo data and the
    /// unspent coins of `coins`. `drawn` is the salt of an earlier merge of the same documents;
    /// otherwise a salt is drawn. Whoever can still change a file must not know the salt.
    ///
    /// # Errors
    /// Returns [`Error::OtherDocuments`] if the salt belongs to other documents,
    /// [`Error::Unproven`] if the random generator fails, and the errors of [`new`](Self::new).
    pub fn with_multiset(
        files: &'a BlockFiles,
        options: &'a Options,
        shards: &[Headers],
        coins: &Coins,
        drawn: Option<Salt>,
    ) -> Result<Self, Error> {
        let assumed_valid = options.assume_valid.as_ref();
        let multiset = Some(MultisetMerge::new(shards, coins, assumed_valid, drawn)?);
        Ok(Self { multiset, ..Self::begin(files, options, shards)? })
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
            for (file, range) in &shard.corruption {
                index.corruption.extend(own.get(*file as usize).map(|file| (*file, *range)));
            }
            index.unlisted += shard.unlisted;
            numbers.push(own);
        }
        index.corruption.sort_by_key(|(file, range)| (*file, range.offset));
        let mut run = Run::default();
        run.counts.files = files.files().len() as u64;
        run.counts.file_bytes = files.bytes();
        let mut merger = Self {
            files,
            options,
            shards: numbers,
            undo_files: shards.iter().map(|shard| shard.undo.clone()).collect(),
            undo,
            multiset: None,
            index,
            results: HashMap::new(),
            invalid: vec![],
            fault: None,
            is_over: false,
            run,
        };
        merger.run.counts.blocks = found.len() as u64;
        merger.index.tree = Tree::build(&options.params, found, options.now);
        pass1::choose(files, options, None, &mut merger.index, &mut merger.run)?;
        Ok(merger)
    }

    /// Rebuilds the tree from these records, which include blocks that were hidden before.
    fn link(&mut self, found: Vec<Found>) -> Result<(), Error> {
        let Self { index, options, files, run, .. } = self;
        run.counts.blocks = found.len() as u64;
        index.tree = Tree::build(&options.params, found, options.now);
        pass1::anchor(files, options, index)?;
        pass1::note_best(&index.tree, run);
        mark_invalid(&mut index.tree, &self.invalid);
        Ok(())
    }

    /// Returns a table for each shard: the blocks of the best chain that have no result yet. If all
    /// tables are empty, the verdict is known.
    ///
    /// # Errors
    /// Returns [`Error::OtherHeight`] if the first block of a new tree has not the given height.
    pub fn tables(&mut self) -> Result<Vec<Table>, Error> {
        let mut tables = vec![Table::default(); self.shards.len()];
        if self.options.level == Level::Headers || self.is_over {
            return Ok(tables);
        }
        let path = loop {
            let path = Path::best(&self.index.tree);
            if !self.evaluate(&path)? {
                break path;
            }
        };
        if self.is_over {
            return Ok(tables);
        }
        let (tree, options) = (&self.index.tree, self.options);
        let chain = Chain { tree, path: &path, params: &options.params };
        for height in self.requested(&path) {
            let Some(found) = tree.record(path.nodes[height]) else { continue };
            if self.results.contains_key(&position(found)) {
                continue;
            }
            let file_in = |shard: &Vec<u32>| shard.iter().position(|file| *file == found.file);
            let mut shards = self.shards.iter().enumerate();
            let Some((shard, file)) = shards.find_map(|(i, shard)| Some((i, file_in(shard)?)))
            else {
                continue;
            };
            let Found { offset, size, header, .. } = *found;
            let (file, header) = (file as u32, Hex(header));
            let undo = self.undo.get(&position(found)).copied();
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

    /// The input of level `execution` for the tables. `None` at other levels.
    ///
    /// # Errors
    /// Returns [`Error::AssumedMissing`] if no file has the block up to which scripts are assumed
    /// valid.
    pub fn execution(&self) -> Result<Option<Execution>, Error> {
        let Some(multiset) = &self.multiset else { return Ok(None) };
        let (tree, options) = (&self.index.tree, self.options);
        let path = Path::best(tree);
        Ok(Some(Execution {
            schema: SCHEMA,
            chain: options.params.name.into(),
            salt: multiset.salt,
            assumed_valid: assumed_height(tree, &path, assumed_valid(tree, options)?),
            median_times: DeltaEncoded(path.median_times),
        }))
    }

    /// Returns whether the multiset hash of the unspent coins is missing.
    pub fn lacks_coins(&self) -> bool {
        let lacks = self.multiset.as_ref().is_some_and(MultisetMerge::lacks_coins);
        !self.is_over && self.fault.is_none() && lacks
    }

    /// Adds the multiset hash of the unspent coins.
    ///
    /// # Errors
    /// Returns [`Error::OtherDocuments`] if these are other coins, or the salt differs.
    pub fn add_coins(&mut self, coins: &Coins) -> Result<(), Error> {
        self.multiset.as_mut().map_or(Ok(()), |multiset| multiset.add_coins(coins))
    }

    /// Adds the results of a table of shard number `shard`. Adding the same results again has no
    /// effect.
    ///
    /// # Errors
    /// Returns [`Error::OtherDocuments`] if the multiset hash is missing, or overlaps with another,
    /// and [`Error::Inconsistent`] if the results contradict their files.
    pub fn add_bodies(&mut self, shard: usize, bodies: Bodies) -> Result<(), Error> {
        let Some(files) = self.shards.get(shard) else { return Ok(()) };
        let first = files.first().and_then(|file| self.files.files().get(*file as usize));
        if let Some(first) = first {
            consistent::bodies(first, |row| self.size_of(files, row), &bodies)?;
        }
        if let Some(multiset) = &mut self.multiset {
            let at = |row: &BodyResult| Some((*files.get(row.file as usize)?, row.offset));
            let is_known =
                |row: &&BodyResult| at(row).is_some_and(|at| self.results.contains_key(&at));
            match bodies.rows.iter().filter(is_known).count() {
                0 => multiset.add_bodies(&bodies)?,
                known if known == bodies.rows.len() => return Ok(()),
                _ => return Err(Error::OtherDocuments("one part of each block")),
            }
        }
        for result in bodies.rows {
            if let Some(file) = files.get(result.file as usize) {
                self.results.insert((*file, result.offset), result);
            }
        }
        Ok(())
    }

    /// The size of the record of a row of the shard with these files.
    fn size_of(&self, files: &[u32], row: &BodyResult) -> Option<u32> {
        let at = (*files.get(row.file as usize)?, row.offset);
        let found = self.index.tree.found();
        let record = found.binary_search_by_key(&at, position).ok()?;
        Some(found[record].size)
    }

    /// The heights of the path to verify, counted from its first block.
    fn requested(&self, path: &Path) -> std::ops::Range<usize> {
        let tree = &self.index.tree;
        let begin = usize::from(tree.anchor().is_none());
        let end = self.options.asked(tree.base()).min(path.nodes.len());
        begin.min(end)..end
    }
}

fn position(found: &Found) -> Position {
    (found.file, found.offset)
}

/// The indices of the files of a shard among `files`.
fn files_of(files: &BlockFiles, shard: &Headers) -> Result<Vec<u32>, Error> {
    let find = |path: &std::path::Path| files.files().iter().position(|file| file.path() == path);
    let number = |source: &SourceFile| match find(&source.path) {
        Some(number) => Ok(number as u32),
        None => Err(Error::OtherFiles { found: source.path.clone() }),
    };
    shard.sources.iter().map(number).collect()
}
