//! Verifying a checksummed file: all of it, or that a commit reached the disk.

use std::ops::Range;

use crc32fast::Hasher;

use super::{ChecksummedFile, PIECE, Proof, STRETCH, SUM};
use crate::error::{Error, Result};

impl ChecksummedFile {
    /// Finds every corrupt piece in `range`, which begins at a piece and ends at a piece or at the
    /// end of the file. `corrupt` gets the byte range of each, and the error.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be read. Missing bytes are corruption.
    pub fn survey(
        &self,
        range: Range<u64>,
        mut corrupt: impl FnMut(Range<u64>, Error),
    ) -> Result<()> {
        let mut bytes = vec![0; STRETCH.min(range.end.saturating_sub(range.start)) as usize];
        let mut start = range.start;
        while start < range.end {
            let stretch = &mut bytes[..STRETCH.min(range.end - start) as usize];
            match self.read_pieces(start, stretch) {
                Err(Error::Corrupt { .. }) => self.survey_stretch(start, stretch, &mut corrupt)?,
                other => other?,
            }
            start += stretch.len() as u64;
        }
        Ok(())
    }

    /// Finds the corrupt pieces of one stretch, piece by piece.
    fn survey_stretch(
        &self,
        mut start: u64,
        stretch: &mut [u8],
        corrupt: &mut impl FnMut(Range<u64>, Error),
    ) -> Result<()> {
        for piece in stretch.chunks_mut(PIECE as usize) {
            let end = start + piece.len() as u64;
            match self.read_pieces(start, piece) {
                Err(error @ Error::Corrupt { .. }) => corrupt(start..end, error),
                other => other?,
            }
            start = end;
        }
        Ok(())
    }

    /// Resumes at `proof` and checks that its bytes exist: all of them by the sizes of the files,
    /// the last piece and everything after the durable part byte by byte.
    pub fn prove(&mut self, proof: Proof) -> Result<()> {
        self.resume(proof);
        let Proof { len, durable, since, .. } = proof;
        let (from, to) = (durable / PIECE, len / PIECE);
        self.data.check_len(len)?;
        self.sums.check_len(to * SUM)?;
        let mut found = Hasher::new();
        self.sums.stream(from * SUM..to * SUM, |bytes| found.update(bytes))?;
        let found = found.finalize();
        if found != since {
            let (path, offset) = self.sums.location(from * SUM);
            return Err(Error::Corrupt {
                path,
                offset,
                what: "sums since the last durable point",
                expected: format!("CRC-32 {since:08x}"),
                found: format!("{found:08x}"),
            });
        }
        self.pieces(from * PIECE..len, |_, _| {})
    }
}
