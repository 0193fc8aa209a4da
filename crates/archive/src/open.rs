//! Opens files and folders as one archive.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use crate::detect::{self, Found};
use crate::formats::freezer;
use crate::listing::disk_bytes;
use crate::row::{BlockRange, Contents, ReadBlocks, Recognise};
use crate::{BeaconRoots, ChunkLimit, Error, Format, LeftOut, Packed, Want, input};

/// An archive: an ancient folder, or one or more files of another format in the order of their
/// blocks.
#[derive(Clone, Debug)]
pub struct Archive {
    format: Format,
    files: Vec<PathBuf>,
    network: Option<String>,
    range: BlockRange,
    /// First and last block of each file, as far as it states them.
    ranges: Vec<BlockRange>,
    /// The parts of blocks that the archive has.
    contents: Contents,
    /// Files of the folders without an archive in them.
    left_out: LeftOut,
    /// Roots of the beacon chain that proofs are compared with.
    beacon_roots: Option<Arc<BeaconRoots>>,
}

impl Archive {
    /// Opens the archive in `paths`. A folder means the archives in it, in natural order. The
    /// content determines the format, not the names.
    ///
    /// Files are ordered by their first blocks if every file states its first block, else by name;
    /// numbers in names are compared as numbers.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownFormat`] or [`Error::Foreign`] if a path has no archive,
    /// [`Error::Mixed`] for archives of different formats or networks or several ancient folders,
    /// and the error of reading an index.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let (found, left_out) = detect::find(paths)?;
        let Some(first) = found.first() else {
            let path = paths.first().cloned().unwrap_or_default();
            return Err(Error::UnknownFormat { path, found: "no files".into() });
        };
        if let Some(odd) = found[1..].iter().find(|odd| !belong_together(first, odd)) {
            return Err(Error::Mixed {
                first: first.path.clone(),
                expected: describe(first),
                second: odd.path.clone(),
                found: describe(odd),
            });
        }
        let format = first.format;
        let mut files: Vec<_> = found.into_iter().map(|f| f.path).collect();
        let (mut ranges, mut contents) = (vec![], None);
        for file in &files {
            ranges.push((format.row().range)(file)?);
            let own = match format.row().contents {
                Some(contents) => contents(file)?,
                None => Contents::from(format.parts()),
            };
            contents = Some(contents.map_or(own, |all: Contents| all.and(own)));
        }
        let contents = contents.unwrap_or_default();
        if ranges.iter().all(Option::is_some) {
            let mut order: Vec<_> = ranges.drain(..).zip(files).collect();
            order.sort_by_key(|(range, _)| range.map(|(first, _)| first));
            (ranges, files) = order.into_iter().unzip();
        }
        let first = ranges.iter().flatten().next().map(|(first, _)| *first);
        let last = ranges.last().copied().flatten().and_then(|(_, last)| last);
        let network = files.first().and_then(|file| (format.row().network)(file));
        let range = first.map(|first| (first, last));
        if let (Format::Freezer, None, [tables]) = (format, range, &files[..]) {
            return Err(freezer::without_blocks(tables));
        }
        tracing::debug!(%format, files = files.len(), ?range, ?network, "archive opened");
        let beacon_roots = None;
        Ok(Self { format, files, network, range, ranges, contents, left_out, beacon_roots })
    }

    /// Has readers compare the proofs that blocks are canonical (ere) with these roots.
    #[must_use]
    pub fn with_beacon_roots(self, roots: BeaconRoots) -> Self {
        Self { beacon_roots: Some(Arc::new(roots)), ..self }
    }

    /// The format of every file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The files in reading order, or the one ancient folder.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Files of the folders that are not read.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Bytes on disk. Files that cannot be read count as 0.
    pub fn disk_bytes(&self) -> u64 {
        self.files.iter().map(|file| disk_bytes(file)).sum()
    }

    /// Number of the first and of the last block, as far as the archive states them in its index:
    /// era1 and ere files and ancient folders state both, streams of RLP only the first one. `None`
    /// if there are no blocks.
    pub fn range(&self) -> Option<(u64, Option<u64>)> {
        self.range
    }

    /// Whether the archive should have bodies. Header streams and stores of headers have none.
    pub fn has_bodies(&self) -> bool {
        self.contents.bodies
    }

    /// Whether the archive can have receipts. Streams never have them, and of ere files all must
    /// have them.
    pub fn has_receipts(&self) -> bool {
        self.contents.receipts
    }

    /// Whether the archive is a store of executed blocks.
    pub fn is_executed(&self) -> bool {
        self.contents.executed
    }

    /// Whether every block has its total difficulty.
    pub fn has_total_difficulties(&self) -> bool {
        self.contents.total_difficulties
    }

    /// Hash of the genesis block, if the archive is a store.
    pub fn genesis(&self) -> Option<[u8; 32]> {
        self.contents.genesis
    }

    /// Total difficulty of the last block, big-endian, if the archive is a store that has it.
    pub fn last_total_difficulty(&self) -> Option<[u8; 32]> {
        self.contents.total_difficulty
    }

    /// Number of blocks in the files that begin with block `number` or a later one; `None` if one
    /// of these files does not state its last block.
    pub fn blocks_from(&self, number: u64) -> Option<u64> {
        let mut blocks = 0;
        for (first, last) in self.ranges.iter().flatten().filter(|(first, _)| *first >= number) {
            blocks += last.as_ref()?.saturating_sub(*first).saturating_add(1);
        }
        Some(blocks)
    }

    /// The network's name, if file names have it, as in `mainnet-00000-5ec1ffb8.era1`. It is only a
    /// hint: the content does not confirm it.
    pub fn network_hint(&self) -> Option<&str> {
        self.network.as_deref()
    }

    /// A note on files that are unpacked to temporary files to be read, if there are any:
    /// compressed files of a format with random access.
    pub fn copied(&self) -> Option<String> {
        let copies = || self.files.iter().filter(|file| input::needs_copy(file)).count();
        let copies = if self.format.row().random_access { copies() } else { 0 };
        (copies > 0).then(|| input::copied(copies, None))
    }

    /// Opens a reader of the blocks with numbers in `range`, in order.
    ///
    /// # Errors
    ///
    /// Returns the error of opening a file or reading its index.
    pub fn reader(
        &self,
        want: Want,
        limit: ChunkLimit,
        range: RangeInclusive<u64>,
    ) -> Result<Reader, Error> {
        let open = self.format.row().open;
        let source = open(self.files.clone(), want, range)?;
        Ok(Reader { source, limit: limit.clamped(), beacon_roots: self.beacon_roots.clone() })
    }
}

/// Whether two files can be one archive. Network names are only hints, but different names are
/// different networks.
fn belong_together(a: &Found, b: &Found) -> bool {
    let network = |found: &Found| (found.format.row().network)(&found.path);
    let alone = matches!(a.format.row().recognise, Recognise::Folder(_));
    a.format == b.format && !alone && network(a) == network(b)
}

fn describe(found: &Found) -> String {
    match (found.format.row().network)(&found.path) {
        Some(network) => format!("{} of {network}", found.format),
        None => found.format.to_string(),
    }
}

/// A reader of an archive, from its first to its last chunk.
#[derive(Debug)]
pub struct Reader {
    source: Box<dyn ReadBlocks>,
    limit: ChunkLimit,
    beacon_roots: Option<Arc<BeaconRoots>>,
}

impl Reader {
    /// Reads the next chunk into `into`, reusing its buffers. Returns false at the end.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if a file cannot be read, and the error of the record at which it is
    /// corrupt, cut short or does not follow.
    pub fn read(&mut self, into: &mut Packed) -> Result<bool, Error> {
        into.beacon_roots.clone_from(&self.beacon_roots);
        self.source.read(self.limit, into)
    }

    /// A note for the user on the blocks read so far: blocks that were repeated and skipped.
    pub fn note(&self) -> Option<String> {
        self.source.note()
    }

    /// Limits the blocks of each later chunk.
    pub fn limit_blocks(&mut self, blocks: usize) {
        self.limit = ChunkLimit { blocks, ..self.limit }.clamped();
    }
}
