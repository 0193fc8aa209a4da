//! Reads a snapshot and verifies its checksums, its order and its state root.

use super::frame::{Checked, Frame, Shown};
use super::{
    Counts, FRAME, FRAME_HEAD, FrameHead, FrameKind, HEAD, Head, MAGIC, MOST, Position,
    SnapshotError, Take, Wrong,
};
use crate::{Address, Hash};
use blockmill_pipeline::{Cancel, Flow, Stages};
use blockmill_trie::PartJoiner;
use blockmill_verdict::Hex;
use hashbrown::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A verified snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its chain and block.
    pub head: Head,
    /// Numbers of its entries.
    pub counts: Counts,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Reads the head of a snapshot.
///
/// # Errors
/// [`SnapshotError::Corrupt`] if it is not a snapshot, [`SnapshotError::Io`] if it cannot be read.
pub fn head_of(path: &Path) -> Result<Head, SnapshotError> {
    let file = File::open(path).map_err(SnapshotError::io(path))?;
    Ok(FrameReader::open(path, file)?.head)
}

/// Verifies the file at `path` on `threads` threads and the one that reads. `watch` gets the bytes
/// of each frame. The caller compares the state root with the block's header.
///
/// # Errors
/// [`SnapshotError::Corrupt`] with the first thing in the file that is wrong; those of the system.
pub fn verify(
    path: &Path,
    threads: usize,
    cancel: &Cancel,
    watch: impl FnMut(u64) + Send,
) -> Result<Verified, SnapshotError> {
    let file = File::open(path).map_err(SnapshotError::io(path))?;
    verify_from(path, file, threads, cancel, watch)
}

/// Verifies the bytes of `input`; `path` names it in errors.
///
/// # Errors
/// [`SnapshotError::Corrupt`] with the first error in the input, [`SnapshotError::Io`] if it cannot
/// be read, [`SnapshotError::Stopped`] when cancelled.
pub fn verify_from(
    path: &Path,
    input: impl Read + Send,
    threads: usize,
    cancel: &Cancel,
    watch: impl FnMut(u64) + Send,
) -> Result<Verified, SnapshotError> {
    run(path, input, threads, cancel, watch, None)
}

/// Verifies a snapshot and passes its entries to `take`. The entries are verified when this
/// returns: the state root is known at the end.
///
/// # Errors
/// [`SnapshotError::Receiver`] if `take` fails; other errors as for [`verify_from`].
pub fn read(
    path: &Path,
    input: impl Read + Send,
    threads: usize,
    cancel: &Cancel,
    watch: impl FnMut(u64) + Send,
    take: &mut Take<'_>,
) -> Result<Verified, SnapshotError> {
    run(path, input, threads, cancel, watch, Some(take))
}

fn run(
    path: &Path,
    input: impl Read + Send,
    threads: usize,
    cancel: &Cancel,
    mut watch: impl FnMut(u64) + Send,
    mut take: Option<&mut Take<'_>>,
) -> Result<Verified, SnapshotError> {
    let mut source = FrameReader::open(path, input)?;
    let head = source.head;
    let mut joined = Joined::new(path, head);
    let read = |frame: &mut Frame| source.read(frame);
    let join = |frame: &mut Frame| {
        joined.join(frame)?;
        if let Some(take) = &mut take {
            frame.entries(take)?;
        }
        watch((FRAME_HEAD + frame.payload.len()) as u64);
        Ok(if cancel.is_cancelled() { Flow::Stop } else { Flow::Continue })
    };
    let frames = (0..blockmill_pipeline::buffers(threads)).map(|_| Frame::default()).collect();
    let stages = Stages::read("read", read).parallel("hash", Frame::check).serial("join", join);
    stages.run(frames, threads).outcome?;
    if cancel.is_cancelled() {
        return Err(SnapshotError::Stopped);
    }
    let (counts, bytes) = (joined.counts, source.offset);
    Ok(Verified { head, counts, bytes })
}

/// The file, frame by frame.
struct FrameReader<'p, R> {
    path: &'p Path,
    file: R,
    head: Head,
    /// Offset of the next byte.
    offset: u64,
    /// The head of the next frame, and its offset.
    next: Option<(FrameHead, [u8; FRAME_HEAD], u64)>,
    before: Option<FrameHead>,
    /// The last complete account.
    ended: Option<Hash>,
}

impl<'p, R: Read> FrameReader<'p, R> {
    fn open(path: &'p Path, file: R) -> Result<Self, SnapshotError> {
        let head =
            Head { chain_id: 0, genesis: [0; 32], number: 0, hash: [0; 32], state_root: [0; 32] };
        let (next, before, ended) = (None, None, None);
        let mut source = Self { path, file, head, offset: 0, next, before, ended };
        let mut bytes = [0; HEAD];
        source.exact(&mut bytes, "the head of a snapshot")?;
        if bytes[..MAGIC.len()] != MAGIC {
            let found = format!("{:02x?}", &bytes[..MAGIC.len()]);
            return Err(source.damaged(0, "a snapshot, which begins with BMFLAT01", found));
        }
        let Some(head) = Head::decode(&bytes) else {
            return Err(source.damaged(0, "a head with its sum", "another sum"));
        };
        if let Some((offset, expected, found)) = head.contradiction() {
            return Err(source.damaged(offset, expected, found));
        }
        source.head = head;
        source.next = Some(source.frame_head()?);
        Ok(source)
    }

    fn damaged(&self, offset: u64, expected: impl ToString, found: impl ToString) -> SnapshotError {
        let (expected, found) = (expected.to_string(), found.to_string());
        SnapshotError::Corrupt { path: self.path.into(), offset, account: None, expected, found }
    }

    /// Fills `bytes`; `expected` is for the error at the end of the file.
    fn exact(&mut self, bytes: &mut [u8], expected: &str) -> Result<(), SnapshotError> {
        match self.file.read_exact(bytes) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.damaged(self.offset, expected, "the end of the file"))
            }
            Err(error) => Err(SnapshotError::io(self.path)(error)),
        }
    }

    fn frame_head(&mut self) -> Result<(FrameHead, [u8; FRAME_HEAD], u64), SnapshotError> {
        let offset = self.offset;
        let mut bytes = [0; FRAME_HEAD];
        self.exact(&mut bytes, "the head of a frame")?;
        let head = FrameHead::decode(&bytes).ok_or_else(|| {
            let expected = format!("the head of a frame of at most {FRAME} bytes, of codes {MOST}");
            self.damaged(offset, expected, format!("{:02x?}", &bytes[..8]))
        })?;
        self.follows(&head, offset)?;
        Ok((head, bytes, offset))
    }

    /// Reads the next frame, and the head of the one after it. Returns false after the last frame.
    fn read(&mut self, frame: &mut Frame) -> Result<bool, SnapshotError> {
        let Some((head, bytes, offset)) = self.next.take() else { return Ok(false) };
        (frame.head, frame.offset, frame.checked) = (head, offset, None);
        frame.raw_head.clear();
        frame.raw_head.extend_from_slice(&bytes);
        frame.payload.resize(head.length as usize, 0);
        let mut payload = std::mem::take(&mut frame.payload);
        let read = self.exact(&mut payload, "the rest of a frame");
        frame.payload = payload;
        read?;
        let goes_on = self.before.filter(|before| before.kind == FrameKind::Slots);
        (frame.ended, frame.slot_before) = (self.ended, goes_on.map(|before| before.last.slot));
        if head.kind == FrameKind::Accounts {
            self.ended = Some(head.last.key);
        }
        self.before = Some(head);
        frame.after = None;
        if head.kind == FrameKind::End {
            return match self.file.read(&mut [0]) {
                Ok(0) => Ok(true),
                Ok(_) => Err(self.damaged(self.offset, "the end of the file", "more bytes")),
                Err(error) => Err(SnapshotError::io(self.path)(error)),
            };
        }
        let next = self.frame_head()?;
        // otherwise an account is complete there, or nothing follows
        frame.after =
            matches!(next.0.kind, FrameKind::Accounts | FrameKind::Slots).then_some(next.0.first);
        self.next = Some(next);
        Ok(true)
    }

    /// Checks that a frame may follow the one before it.
    fn follows(&self, head: &FrameHead, offset: u64) -> Result<(), SnapshotError> {
        let none = Position::default();
        let wrong =
            |expected: String, found: Position| Err(self.damaged(offset, expected, Shown(found)));
        if head.first > head.last {
            return wrong(format!("a frame from at most {}", Shown(head.last)), head.first);
        }
        let Some(before) = &self.before else { return Ok(()) };
        let (first, last) = (head.first, before.last);
        match (before.kind, head.kind) {
            (FrameKind::Slots, FrameKind::Accounts | FrameKind::Slots) => {
                if first.key != last.key || first.slot <= last.slot {
                    return wrong(format!("more slots of {}", Shown(last)), first);
                }
            }
            (FrameKind::Slots, _) => return wrong(format!("more slots of {}", Shown(last)), none),
            (FrameKind::Codes, FrameKind::Codes)
            | (FrameKind::Accounts, FrameKind::Accounts | FrameKind::Slots) => {
                if first.key <= last.key {
                    return wrong(format!("a frame above {}", Shown(last)), first);
                }
            }
            (FrameKind::Codes | FrameKind::Accounts, FrameKind::End) | (FrameKind::Codes, _) => {}
            (FrameKind::Accounts | FrameKind::End, _) => {
                return wrong("accounts or the end".into(), first);
            }
        }
        Ok(())
    }
}

/// Merges what frames share, in order.
struct Joined<'p> {
    path: &'p Path,
    head: Head,
    counts: Counts,
    codes: HashSet<Hash>,
    accounts: PartJoiner,
    storage: PartJoiner,
}

impl<'p> Joined<'p> {
    fn new(path: &'p Path, head: Head) -> Self {
        let (accounts, storage) = (PartJoiner::default(), PartJoiner::default());
        Self { path, head, counts: Counts::default(), codes: HashSet::new(), accounts, storage }
    }

    fn damaged(
        &self,
        frame: &Frame,
        account: Option<Address>,
        expected: impl ToString,
        found: impl ToString,
    ) -> SnapshotError {
        let (expected, found) = (expected.to_string(), found.to_string());
        let (path, offset) = (self.path.into(), frame.offset);
        SnapshotError::Corrupt { path, offset, account, expected, found }
    }

    fn join(&mut self, frame: &mut Frame) -> Result<(), SnapshotError> {
        let checked = frame.checked.take().unwrap_or_else(|| Ok(Checked::default()));
        let checked = checked.map_err(|wrong: Wrong| {
            let Wrong { offset, account, expected, found } = wrong;
            let offset = frame.offset + (FRAME_HEAD + offset) as u64;
            SnapshotError::Corrupt { path: self.path.into(), offset, account, expected, found }
        })?;
        self.counts.add(&checked.counts);
        self.codes.extend(&checked.codes);
        for (address, hash) in &checked.used {
            if !self.codes.contains(hash) {
                let expected = format!("the code {}", Hex(hash));
                return Err(self.damaged(
                    frame,
                    Some(*address),
                    expected,
                    "no such code before it",
                ));
            }
        }
        if let Some(part) = &checked.storage {
            self.storage.join(part);
        }
        if let Some((address, expected)) = checked.claim {
            let found = self.storage.root();
            if found != expected {
                let expected = format!("slots with the root {}", Hex(&expected));
                return Err(self.damaged(frame, Some(address), expected, Hex(&found)));
            }
        }
        self.accounts.join(&checked.accounts);
        if frame.head.kind == FrameKind::End {
            let root = self.accounts.root();
            if root != self.head.state_root {
                let expected = format!("the state root {}", Hex(&self.head.state_root));
                return Err(self.damaged(frame, None, expected, Hex(&root)));
            }
            if frame.payload != self.counts.encode() {
                let expected = format!("the end after {:?}", self.counts);
                return Err(self.damaged(frame, None, expected, "other numbers"));
            }
        }
        Ok(())
    }
}
