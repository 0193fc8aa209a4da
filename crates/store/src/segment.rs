//! A segment: append-only bytes with a checksum for each piece, as a part of a store. Its beginning
//! can be removed; the remaining bytes keep their positions.

use std::{ops::Range, path::PathBuf, sync::Arc};

use crate::{
    checksummed_file::{ChecksummedFile, Proof},
    error::{Result, mismatch},
    folder::Folder,
    manifest::{self, Fields},
    segmented_file::SegmentedFile,
};

/// The least and the largest size of its files: a page, a pebibyte.
const FILE_BYTES: (u64, u64) = (1 << 12, 1 << 50);

/// A segment of a [`crate::Store`]. Appended bytes count after the next commit, light or durable.
/// Every read verifies checksums.
pub struct Segment {
    pub(crate) folder: Arc<Folder>,
    name: String,
    file_bytes: u64,
    pub(crate) file: ChecksummedFile,
    /// The next commit, a durable one, cuts the files to the length that is known here.
    is_cut: bool,
    /// The next commit must be durable, and removes the bytes before the current start.
    is_shortened: bool,
}

impl Segment {
    /// An empty segment.
    pub(crate) fn new(
        folder: &Arc<Folder>,
        name: &str,
        file_bytes: u64,
        writable: bool,
    ) -> Result<Segment> {
        if !(FILE_BYTES.0..=FILE_BYTES.1).contains(&file_bytes) {
            return Err(mismatch("file size", "4096 bytes to 1 PiB", file_bytes));
        }
        let (disk, dir) = (&folder.disk, &folder.dir);
        let file = ChecksummedFile::new(disk, dir, name, file_bytes, writable);
        let (folder, name) = (Arc::clone(folder), name.to_owned());
        Ok(Segment { folder, name, file_bytes, file, is_cut: false, is_shortened: false })
    }

    /// The segment with these facts of a manifest; its bytes are not verified.
    pub(crate) fn from_facts(
        folder: &Arc<Folder>,
        name: &str,
        facts: &[u8],
        writable: bool,
    ) -> Result<Segment> {
        let corrupt = || {
            let found = format!("{} other bytes", facts.len());
            manifest::corrupt(&folder.dir, format!("facts of segment {name}"), found)
        };
        let (file_bytes, proof) = read_facts(facts).ok_or_else(corrupt)?;
        let mut segment =
            Segment::new(folder, name, file_bytes, writable).map_err(|_| corrupt())?;
        segment.file.resume(proof);
        Ok(segment)
    }

    /// Checks that the bytes exist: all of them by the sizes of the files, those after the last
    /// durable commit byte by byte.
    pub(crate) fn prove(&mut self) -> Result<()> {
        self.file.prove(self.file.proof())
    }

    /// Returns whether `file` is the name of a file of the segment `name`.
    pub(crate) fn is_own_file(file: &str, name: &str) -> bool {
        let file = file.strip_prefix(name).unwrap_or_default();
        [file, file.strip_prefix("-sums").unwrap_or_default()]
            .iter()
            .any(|file| SegmentedFile::number_of(file, "").is_some())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes in a file before the next one is begun.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The first byte that is not removed; 0 if none is.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.file.start()
    }

    /// Bytes so far, including removed ones.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    /// Returns whether there is no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes. They go to the operating system, and count after the next commit.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] when the segment was cut since the last commit; those of the
    /// system.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_uncut("an append")?;
        self.file.append(bytes)
    }

    /// Fills `out` from `position`. Can be called from any thread.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] names the piece whose checksum does not match;
    /// [`crate::Error::Mismatch`] if the range is outside of the segment, or was removed.
    pub fn read(&self, position: u64, out: &mut [u8]) -> Result<()> {
        self.check_start(position)?;
        self.file.read(position, out)
    }

    /// Calls `each` with the bytes of `range` in order. Can be called from any thread; readers do
    /// not wait for one another.
    ///
    /// # Errors
    /// As [`Segment::read`].
    pub fn stream(&self, range: Range<u64>, each: impl FnMut(&[u8])) -> Result<()> {
        self.check_start(range.start)?;
        self.file.stream(range, each)
    }

    fn check_start(&self, position: u64) -> Result<()> {
        match position < self.start() {
            true => {
                Err(mismatch("position in a segment", format!("from {}", self.start()), position))
            }
            false => Ok(()),
        }
    }

    /// The file that holds byte `position`, and its offset there: for errors that name a place.
    #[must_use]
    pub fn location(&self, position: u64) -> (PathBuf, u64) {
        self.file.location(position)
    }

    /// Removes all bytes from `len` on. They are cut off by the next commit, which must be a
    /// durable one, and before which nothing can be appended.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] when the segment is shorter; the errors of [`Segment::read`].
    pub fn cut(&mut self, len: u64) -> Result<()> {
        if !(self.start()..=self.len()).contains(&len) {
            let expected = format!("{} to {}", self.start(), self.len());
            return Err(mismatch("length to cut to", expected, len));
        }
        let (tail, proof) = (self.file.tail_at(len)?, self.file.proof());
        let durable = proof.durable.min(len);
        self.file.resume(Proof { len, durable, since: 0, tail, ..proof });
        self.is_cut = true;
        Ok(())
    }

    /// Removes all bytes before `start`; the others keep their positions. The next commit, which
    /// must be durable, removes whole files and punches holes.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] if `start` is outside of the segment, or was removed.
    pub fn give_up_before(&mut self, start: u64) -> Result<()> {
        if !(self.start()..=self.len()).contains(&start) {
            let expected = format!("{} to {}", self.start(), self.len());
            return Err(mismatch("beginning of a segment", expected, start));
        }
        self.is_shortened |= start > self.start();
        self.file.begin_at(start);
        Ok(())
    }

    fn check_uncut(&self, what: &str) -> Result<()> {
        match self.is_cut {
            // bytes that would be overwritten still count
            true => Err(mismatch("segment", "a durable commit after it was cut", what)),
            false => Ok(()),
        }
    }

    /// Facts for a light commit.
    pub(crate) fn facts(&self) -> Result<Vec<u8>> {
        self.check_uncut("a light commit")?;
        if self.is_shortened {
            let expected = "a durable commit after its beginning was given up";
            return Err(mismatch("segment", expected, "a light commit"));
        }
        Ok(self.encode(self.file.proof()))
    }

    /// Makes all bytes survive a power loss. Returns the facts for the manifest.
    pub(crate) fn prepare(&mut self) -> Result<Vec<u8>> {
        self.file.sync()?;
        let durable = self.len();
        Ok(self.encode(Proof { durable, since: 0, ..self.file.proof() }))
    }

    fn encode(&self, Proof { start, len, durable, since, tail }: Proof) -> Vec<u8> {
        let words = [self.file_bytes, len, durable].map(u64::to_le_bytes);
        let mut facts = [words.as_flattened(), &since.to_le_bytes(), &tail.to_le_bytes()].concat();
        if start > 0 {
            facts.extend(start.to_le_bytes());
        }
        facts
    }

    /// Cuts and removes bytes after the commit that was prepared.
    pub(crate) fn finish_commit(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_cut) {
            self.file.cut()?;
        }
        if std::mem::take(&mut self.is_shortened) {
            self.file.give_up()?;
        }
        self.file.mark_durable();
        Ok(())
    }
}

/// Decodes facts: size of a file, and the proof.
fn read_facts(facts: &[u8]) -> Option<(u64, Proof)> {
    let mut fields = Fields(facts);
    let (file_bytes, len, durable) = (fields.long()?, fields.long()?, fields.long()?);
    let (since, tail) = (fields.short()?, fields.short()?);
    let start = if fields.0.is_empty() { 0 } else { fields.long()? };
    let is_one = fields.0.is_empty() && start <= durable && durable <= len && len < 1 << 60;
    is_one.then_some((file_bytes, Proof { start, len, durable, since, tail }))
}
