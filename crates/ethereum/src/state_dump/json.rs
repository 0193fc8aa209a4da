//! Reads JSON in order and in bounded memory: values are not collected, and a line may be longer
//! than memory. Strings with escapes, which no dump has, are refused.

use crate::snapshot::SnapshotError;
use blockmill_archive::Unpacked;
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;
/// Limit of the length of a name or a number.
const SHORT: usize = 128;
/// Limit of the nesting of a value that is skipped.
const DEPTH: usize = 32;

/// The result of reading.
pub(super) type Result<T> = std::result::Result<T, SnapshotError>;

/// A file of JSON.
pub(super) struct Json {
    input: Unpacked,
    path: PathBuf,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// The number of the line, from 1 on.
    pub line: u64,
}

impl Json {
    pub fn open(path: &Path) -> Result<Self> {
        let (input, path) = (Unpacked::open(path)?, path.to_owned());
        Ok(Self { input, path, buffer: vec![0; BUFFER], at: 0, end: 0, line: 1 })
    }

    /// Bytes read from disk so far.
    pub fn disk_bytes(&self) -> u64 {
        self.input.disk_bytes()
    }

    /// An error in the current line.
    pub fn wrong(&self, expected: impl ToString, found: impl ToString) -> SnapshotError {
        let (path, line, account) = (self.path.clone(), self.line, None);
        let (expected, found) = (expected.to_string(), found.to_string());
        SnapshotError::Dump { path, line, account, expected, found }
    }

    /// The next bytes; none at the end of the file.
    fn rest(&mut self) -> Result<&[u8]> {
        if self.at == self.end {
            (self.at, self.end) = (0, self.input.read(&mut self.buffer)?);
        }
        Ok(&self.buffer[self.at..self.end])
    }

    /// The next byte that is not white space, which is not consumed; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            match self.rest()?.first() {
                Some(b'\n') => self.line += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                other => return Ok(other.copied()),
            }
            self.at += 1;
        }
    }

    /// Consumes `byte`; `what` names it.
    fn consume(&mut self, byte: u8, what: &str) -> Result<()> {
        match self.peek()? {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            found => Err(self.wrong(what, shown(found))),
        }
    }

    /// Reads a string of at most `most` bytes into `out`.
    pub fn string(&mut self, out: &mut Vec<u8>, most: usize) -> Result<()> {
        self.consume(b'"', "a string")?;
        out.clear();
        loop {
            let rest = self.rest()?;
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '));
            let (taken, stop) = (end.unwrap_or(rest.len()), end.map(|end| rest[end]));
            if rest.is_empty() {
                return Err(self.wrong("the rest of a string", "the end of the file"));
            }
            out.extend_from_slice(&rest[..taken]);
            self.at += taken;
            if out.len() > most {
                let found = format!("{} or more", out.len());
                return Err(self.wrong(format!("a string of at most {most} bytes"), found));
            }
            match stop {
                None => {}
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                other => return Err(self.wrong("a string without escapes", shown(other))),
            }
        }
    }

    /// Reads a number, or a string with one, into `out`.
    pub fn number(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.peek()? == Some(b'"') {
            return self.string(out, SHORT);
        }
        out.clear();
        while let Some(digit @ b'0'..=b'9') = self.rest()?.first().copied() {
            self.at += 1;
            out.push(digit);
            if out.len() > SHORT {
                return Err(self.wrong(format!("a number of at most {SHORT} digits"), "more"));
            }
        }
        if out.is_empty() {
            let found = self.peek()?;
            return Err(self.wrong("a number", shown(found)));
        }
        Ok(())
    }

    /// Reads an object and calls `each` with each name, which reads the value.
    pub fn object(&mut self, mut each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.consume(b'{', "an object")?;
        if self.peek()? == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut name = vec![];
        loop {
            self.string(&mut name, SHORT)?;
            self.consume(b':', "a colon after a name")?;
            each(self, &name)?;
            match self.peek()? {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                found => return Err(self.wrong("a comma or the end of an object", shown(found))),
            }
        }
    }

    /// Skips a value.
    pub fn skip(&mut self, most: usize) -> Result<()> {
        let (mut depth, mut text) = (0, vec![]);
        loop {
            match self.peek()? {
                Some(b'"') => self.string(&mut text, most)?,
                Some(b'{' | b'[') => {
                    (self.at, depth) = (self.at + 1, depth + 1);
                    if depth > DEPTH {
                        return Err(self.wrong(format!("at most {DEPTH} nested values"), "more"));
                    }
                    continue;
                }
                Some(b'}' | b']' | b',' | b':') if depth > 0 => {
                    depth -= usize::from(matches!(self.buffer[self.at], b'}' | b']'));
                    self.at += 1;
                }
                Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') => self.word()?,
                found => return Err(self.wrong("a value", shown(found))),
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips a number, or `true`, `false` or `null`.
    fn word(&mut self) -> Result<()> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        while self.rest()?.first().is_some_and(is_part) {
            self.at += 1;
        }
        Ok(())
    }
}

/// A byte that was found, or the end.
fn shown(found: Option<u8>) -> String {
    match found {
        None => "the end of the file".into(),
        Some(byte) => format!("{:?}", char::from(byte)),
    }
}
