//! Reads Neo's encoding: integers, variable-length numbers and byte strings.

use super::{Error, write};
use blockmill_verdict::Span;

/// A cursor over the bytes of an object.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Offset of the end.
    end: usize,
    /// Non-canonical parts with their canonical forms; `None` if such a part is an error.
    rewrites: Option<Vec<(Span, Vec<u8>)>>,
}

impl<'a> Reader<'a> {
    /// Reads `raw` from its beginning. Offsets fit in 32 bits, so `raw` has less than 4 GiB.
    #[must_use]
    pub fn new(raw: &'a [u8]) -> Self {
        Self { rest: raw, end: raw.len(), rewrites: None }
    }

    /// Reads `raw` and records non-canonical parts instead of rejecting them.
    pub(super) fn lenient(raw: &'a [u8]) -> Self {
        Self { rewrites: Some(Vec::new()), ..Self::new(raw) }
    }

    /// The read bytes of `raw`, with non-canonical parts replaced.
    pub(super) fn rewritten(&self, raw: &[u8]) -> Vec<u8> {
        let (mut bytes, mut at) = (Vec::new(), 0);
        for (span, form) in self.rewrites.iter().flatten() {
            bytes.extend_from_slice(&raw[at..span.start as usize]);
            bytes.extend_from_slice(form);
            at = span.end as usize;
        }
        bytes.extend_from_slice(&raw[at..self.position() as usize]);
        bytes
    }

    /// Records the canonical form of the bytes since `start`. Returns false if such bytes are an
    /// error.
    pub(super) fn rewrite(&mut self, start: u32, form: impl FnOnce() -> Vec<u8>) -> bool {
        let end = self.position();
        match &mut self.rewrites {
            Some(rewrites) => {
                rewrites.push((Span { start, end }, form()));
                true
            }
            None => false,
        }
    }

    /// Reads the bytes of `span` in `raw`. Offsets are relative to `raw`.
    pub(super) fn at_span(raw: &'a [u8], span: Span) -> Self {
        Self { rest: span.slice(raw), end: span.end as usize, rewrites: None }
    }

    /// The offset of the next byte.
    #[must_use]
    pub fn position(&self) -> u32 {
        (self.end - self.rest.len()) as u32
    }

    /// Reports whether all bytes are read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// Returns [`Error::Trailing`] if bytes are left.
    pub(super) fn end(&self) -> Result<(), Error> {
        let (expected, found) = (self.position(), self.end as u32);
        if self.is_empty() { Ok(()) } else { Err(Error::Trailing { expected, found }) }
    }

    #[cold]
    #[inline(never)]
    fn truncated(&self, expected: u64) -> Error {
        Error::Truncated { at: self.position(), expected, found: self.rest.len() as u32 }
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        match self.rest.split_first_chunk() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(array)
            }
            None => Err(self.truncated(N as u64)),
        }
    }

    /// The next byte.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer bytes.
    #[inline(always)]
    pub fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| *byte)
    }

    /// A number of two bytes, little endian.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer bytes.
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// A number of four bytes, little endian.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer bytes.
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A number of eight bytes, little endian.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer bytes.
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// A variable-length number of 1, 3, 5 or 9 bytes.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if bytes are missing, [`Error::NotCanonical`] if the number has
    /// a shorter form.
    #[inline]
    pub fn number(&mut self) -> Result<u64, Error> {
        let at = self.position();
        let (expected, found) = match self.byte()? {
            0xfd => (0xfd, u64::from(self.u16()?)),
            // neo-go writes the largest number of a form in the next one
            0xfe => (0xffff, u64::from(self.u32()?)),
            0xff => (0xffff_ffff, self.u64()?),
            small => (0, u64::from(small)),
        };
        if found < expected && !self.rewrite(at, || shortest(found)) {
            return Err(Error::NotCanonical { at, expected, found });
        }
        Ok(found)
    }

    /// A variable-length number of at most `most`, which counts `what`.
    ///
    /// # Errors
    /// Returns [`Error::TooMany`] if it is larger, and the errors of [`Reader::number`].
    #[inline]
    pub fn count(&mut self, what: &'static str, most: u64) -> Result<usize, Error> {
        let at = self.position();
        match self.number()? {
            found if found > most => Err(Error::TooMany { at, what, expected: most, found }),
            found => Ok(found as usize),
        }
    }

    /// A length of at most `most`, and so many bytes of `what`.
    ///
    /// # Errors
    /// Returns the errors of [`Reader::count`], and [`Error::Truncated`] if bytes are missing.
    #[inline]
    pub fn string(&mut self, what: &'static str, most: u64) -> Result<Span, Error> {
        let length = self.count(what, most)?;
        self.skip(length)
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// Returns [`Error::Truncated`] if there are fewer.
    #[inline]
    pub fn skip(&mut self, length: usize) -> Result<Span, Error> {
        let start = self.position();
        match self.rest.split_at_checked(length) {
            Some((_, rest)) => {
                self.rest = rest;
                Ok(Span { start, end: self.position() })
            }
            None => Err(self.truncated(length as u64)),
        }
    }
}

fn shortest(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::number(&mut bytes, number);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::write;

    #[test]
    fn numbers_of_all_lengths_are_read_as_they_were_written() {
        for number in [0, 1, 0xfc, 0xfd, 0xffff, 0x1_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX] {
            let mut bytes = Vec::new();
            write::number(&mut bytes, number);
            assert_eq!(bytes.len(), write::number_length(number));
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(), Ok(number));
            assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                let error = Reader::new(&bytes[..cut]).number().unwrap_err();
                assert!(matches!(error, Error::Truncated { .. }), "{error}");
            }
        }
    }

    #[test]
    fn a_number_with_a_shorter_form_is_refused() {
        let error = Reader::new(&[0xfd, 0xfc, 0]).number();
        assert_eq!(error, Err(Error::NotCanonical { at: 0, expected: 0xfd, found: 0xfc }));
        let error = Reader::new(&[0xfe, 0xfe, 0xff, 0, 0]).number();
        assert_eq!(error, Err(Error::NotCanonical { at: 0, expected: 0xffff, found: 0xfffe }));
    }

    #[test]
    fn the_largest_number_of_two_bytes_is_read_as_neo_go_and_as_csharp_write_it() {
        for bytes in [&[0xfe, 0xff, 0xff, 0, 0][..], &[0xfd, 0xff, 0xff]] {
            assert_eq!(Reader::new(bytes).number(), Ok(0xffff));
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_anything_is_read() {
        let error = Reader::new(&[5, 1, 2]).string("script", 4);
        assert_eq!(error, Err(Error::TooMany { at: 0, what: "script", expected: 4, found: 5 }),);
        let error = Reader::new(&[4, 1, 2]).string("script", 4);
        assert_eq!(error, Err(Error::Truncated { at: 1, expected: 4, found: 2 }));
    }
}
