//! Flat snapshots: the whole state after one block in one file, in the order of the keys of its
//! tries. Bytes: `docs/formats/snapshot.md`.
//!
//! The file consists of frames of a few thousand slots, each with a checksum and its first and last
//! key. A reader knows the neighbours of a frame before it is decoded, so any thread can hash all
//! parts of the tries except the few branches that frames share ([`blockmill_trie::TriePart`]).

mod frame;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Verified, head_of, read, verify, verify_from};
pub use write::{Written, write};

use crate::params::ChainSpec;
use crate::state::Account;
use crate::{Address, Hash, U256};
use blockmill_platform::{files, remote};
use blockmill_verdict::Hex;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Magic bytes of a file.
pub const MAGIC: [u8; 8] = *b"BMFLAT01";
/// Bytes of the file's head: magic, [`Head`], checksum.
const HEAD: usize = 8 + 8 + 32 + 8 + 32 + 32 + 4;
/// Bytes of a frame's head.
const FRAME_HEAD: usize = 4 + 4 + 64 + 64 + 4;
/// Limit of the payload of a frame, which bounds memory.
const FRAME: usize = 256 << 10;
/// Limit of the payload of a frame of codes, since a code may be long.
const MOST: usize = 16 << 20;

/// The chain and the block of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The chain id (EIP-155).
    pub chain_id: u64,
    /// Hash of its genesis block.
    pub genesis: Hash,
    /// Number of the block.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// The state root in its header.
    pub state_root: Hash,
}

impl Head {
    fn encode(&self) -> [u8; HEAD] {
        let (chain_id, number) = (self.chain_id.to_le_bytes(), self.number.to_le_bytes());
        let fields: [&[u8]; 6] =
            [&MAGIC, &chain_id, &self.genesis, &number, &self.hash, &self.state_root];
        let mut bytes = [0; HEAD];
        bytes[..HEAD - 4].copy_from_slice(&fields.concat());
        let sum = crc32fast::hash(&bytes[..HEAD - 4]);
        bytes[HEAD - 4..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// A field that contradicts another one: its offset, the expected and the found value.
    fn contradiction(&self) -> Option<(u64, String, String)> {
        if let Some(spec) = ChainSpec::by_genesis_hash(&self.genesis)
            && spec.chain_id != self.chain_id
        {
            let expected =
                format!("chain {}, as {} has this genesis block", spec.chain_id, spec.name);
            return Some((8, expected, format!("chain {}", self.chain_id)));
        }
        let is_genesis = self.number == 0 && self.hash != self.genesis;
        is_genesis.then(|| {
            let expected =
                format!("the hash of the genesis block {} for block 0", Hex(&self.genesis));
            (56, expected, Hex(&self.hash).to_string())
        })
    }

    /// `None` if the checksum does not match.
    fn decode(bytes: &[u8; HEAD]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (_magic, chain_id) = (fields.array::<8>(), u64::from_le_bytes(fields.array()));
        let (genesis, number) = (fields.array(), u64::from_le_bytes(fields.array()));
        let head =
            Self { chain_id, genesis, number, hash: fields.array(), state_root: fields.array() };
        (head.encode() == *bytes).then_some(head)
    }
}

/// Reads fields of fixed size.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        if let Some((first, rest)) = self.0.split_first_chunk::<N>() {
            (field, self.0) = (*first, rest);
        }
        field
    }
}

/// The content of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FrameKind {
    /// Codes, in the order of their hashes.
    #[default]
    Codes = 1,
    /// Accounts with their slots; of the first one the remaining slots.
    Accounts = 2,
    /// Slots of one account that continues in the next frame.
    Slots = 3,
    /// The numbers of codes, accounts and slots. Nothing follows.
    End = 4,
}

impl FrameKind {
    const ALL: [Self; 4] = [Self::Codes, Self::Accounts, Self::Slots, Self::End];
}

/// A position in the order of keys: Keccak-256 of a code or an address, and of a slot; zeros
/// without a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    key: Hash,
    slot: Hash,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FrameHead {
    kind: FrameKind,
    /// Bytes of the payload.
    length: u32,
    first: Position,
    last: Position,
    /// CRC-32 of the earlier fields and of the payload.
    sum: u32,
}

impl FrameHead {
    /// Sets the checksum over the fields and `payload`, and encodes the head.
    fn encode(&mut self, payload: &[u8]) -> [u8; FRAME_HEAD] {
        let (kind, length) = ((self.kind as u32).to_le_bytes(), self.length.to_le_bytes());
        let fields: [&[u8]; 6] =
            [&kind, &length, &self.first.key, &self.first.slot, &self.last.key, &self.last.slot];
        let mut bytes = [0; FRAME_HEAD];
        bytes[..FRAME_HEAD - 4].copy_from_slice(&fields.concat());
        self.sum = sum(&bytes, payload);
        bytes[FRAME_HEAD - 4..].copy_from_slice(&self.sum.to_le_bytes());
        bytes
    }

    /// `None` for an invalid head. Does not verify the checksum.
    fn decode(bytes: &[u8; FRAME_HEAD]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let kind = u32::from_le_bytes(fields.array());
        let kind = FrameKind::ALL.into_iter().find(|known| *known as u32 == kind)?;
        let length = u32::from_le_bytes(fields.array());
        let mut position = || Position { key: fields.array(), slot: fields.array() };
        let (first, last) = (position(), position());
        let sum = u32::from_le_bytes(fields.array());
        let most = if kind == FrameKind::Codes { MOST } else { FRAME };
        (length as usize <= most).then_some(Self { kind, length, first, last, sum })
    }
}

/// The checksum of a frame.
fn sum(head: &[u8; FRAME_HEAD], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..FRAME_HEAD - 4]);
    hasher.update(payload);
    hasher.finalize()
}

/// The reason why a snapshot is not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be opened or read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is corrupt, or not the state of its block.
    #[error("{}: expected {expected}, found {found}", Place(path, *offset, account.as_ref()))]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Offset in it.
        offset: u64,
        /// The account, if the error is about one.
        account: Option<Address>,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A state dump is corrupt, or not the state of its block.
    #[error("{}, line {line}{}: expected {expected}, found {found}", path.display(), Of(account))]
    Dump {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: u64,
        /// Address or key of the account, if the error is about one.
        account: Option<String>,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A state dump cannot be read or unpacked.
    #[error(transparent)]
    Unreadable(#[from] blockmill_archive::Error),
    /// The snapshot does not fit the store.
    #[error("expected {expected}, found {found}")]
    Unfit {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// The receiver of the entries failed.
    #[error(transparent)]
    Receiver(Box<crate::error::Error>),
    /// Reading was cancelled.
    #[error("stopped")]
    Stopped,
}

impl From<crate::error::Error> for SnapshotError {
    fn from(error: crate::error::Error) -> Self {
        Self::Receiver(Box::new(error))
    }
}

/// An entry of a snapshot. Codes come before accounts, and the slots of an account before it, some
/// of them in much earlier frames.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A code and its hash.
    Code(&'a Hash, &'a [u8]),
    /// An account.
    Account(&'a Address, &'a Account),
    /// A slot of an account and its value, which is not 0.
    Slot(&'a Address, U256, U256),
}

/// Returns whether a path leads to a file with the magic bytes of a snapshot.
///
/// # Errors
/// An I/O error if it cannot be opened or read.
pub fn is_snapshot(path: &Path) -> std::io::Result<bool> {
    if remote::is_remote(path) || !files::is_file(path)? {
        return Ok(false);
    }
    let mut first = vec![];
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first == MAGIC)
}

impl SnapshotError {
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path: path.clone(), error }
    }
}

/// The place of an error: file, offset, account.
struct Place<'a>(&'a Path, u64, Option<&'a Address>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(path, offset, account) = self;
        write!(f, "{} at offset {offset}", path.display())?;
        match account {
            Some(address) => write!(f, ", account {}", Hex(*address)),
            None => Ok(()),
        }
    }
}

/// The account of an error in a dump.
struct Of<'a>(&'a Option<String>);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|account| write!(f, ", account {account}"))
    }
}

/// The receiver of the entries of a snapshot.
pub type Take<'t> = dyn FnMut(Entry<'_>) -> Result<(), crate::error::Error> + Send + 't;

/// An error in a frame, `offset` bytes into its payload.
#[derive(Debug)]
struct Wrong {
    offset: usize,
    account: Option<Address>,
    expected: String,
    found: String,
}

/// Numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Codes.
    pub codes: u64,
    /// Accounts.
    pub accounts: u64,
    /// Slots.
    pub slots: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.codes += other.codes;
        self.accounts += other.accounts;
        self.slots += other.slots;
    }

    fn encode(&self) -> Vec<u8> {
        [self.codes, self.accounts, self.slots].map(u64::to_le_bytes).concat()
    }
}
