//! The manifest: the parts of a store, the facts of each, and the caller's state.
//!
//! The manifest of a durable commit is written under a temporary name, synced, and renamed over the
//! old one: at any moment there is one whole manifest, and everything that it names is consistent.
//! The manifest of a light commit is written to one of two other files in turn, in place and
//! without a sync: a torn write leaves the other one whole. Layout: `docs/formats/store.md`.

use std::{io, path::Path, sync::Arc};

use crate::{
    crash::CrashPoint,
    disk::{Disk, DiskFile, Open},
    error::{Error, Result, io_error, mismatch},
    folder::Folder,
    table::Salt,
};

/// The name of the manifest of a store's last durable commit.
pub const NAME: &str = "manifest";
/// Its name until it is whole.
pub(crate) const TEMPORARY: &str = "manifest.new";
/// Names of the manifests of light commits: number `n` goes to file `n % 2`.
pub(crate) const LIGHT: [&str; 2] = ["light.0", "light.1"];
/// File name of the manifest of a chain store in older formats.
pub(crate) const OLD_NAME: &str = "checkpoint";
const MAGIC: &[u8; 8] = b"BMSTORE5";
/// First bytes of older formats.
const OLD_MAGICS: [&[u8]; 5] = [b"BMPOINT1", b"BMSTORE1", b"BMSTORE2", b"BMSTORE3", b"BMSTORE4"];
/// The longest state.
pub(crate) const MAX_STATE: usize = 1 << 20;
/// The largest manifest that is read.
const MAX_BYTES: u64 = 1 << 26;
/// More commits than anyone can make, so that the next number always exists.
const MAX_SEQUENCE: u64 = u64::MAX >> 1;

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Table,
    Log,
    Segment,
    /// One that another crate defines.
    Foreign,
}

/// A part and its facts, encoded by the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartFacts {
    pub kind: PartKind,
    pub name: String,
    pub facts: Vec<u8>,
}

/// Content of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Counts commits; the higher one is the newer one.
    pub sequence: u64,
    /// Number of the last durable commit: that of a durable commit is its own.
    pub base: u64,
    pub salt: Salt,
    /// The number of the next file.
    pub next: u64,
    pub parts: Vec<PartFacts>,
    pub state: Vec<u8>,
}

/// Takes numbers, little-endian, and bytes off the front; `None` where they end too early.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.first_chunk().copied()
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    /// The next number of 32 bits.
    pub fn short(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next number of 64 bits.
    pub fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([0; 4]);
        out.extend((self.parts.len() as u32).to_le_bytes());
        for word in [self.sequence, self.base, self.salt.0[0], self.salt.0[1], self.salt.0[2]] {
            out.extend(word.to_le_bytes());
        }
        out.extend(self.next.to_le_bytes());
        out.extend((self.state.len() as u32).to_le_bytes());
        for PartFacts { kind, name, facts } in &self.parts {
            out.push(*kind as u8);
            out.push(name.len() as u8);
            out.extend(name.as_bytes());
            out.extend((facts.len() as u32).to_le_bytes());
            out.extend(facts);
        }
        out.extend(&self.state);
        let len = out.len() as u32 + 4;
        out[8..12].copy_from_slice(&len.to_le_bytes());
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Manifest> {
        let (body, sum) = bytes.split_last_chunk()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut fields = Fields(body.strip_prefix(MAGIC)?);
        let (len, parts) = (fields.short()?, fields.short()?);
        let (sequence, base) = (fields.long()?, fields.long()?);
        let salt = Salt([fields.long()?, fields.long()?, fields.long()?]);
        let (next, state) = (fields.long()?, fields.short()?);
        let part = |fields: &mut Fields| {
            let kind = match fields.byte()? {
                0 => PartKind::Table,
                1 => PartKind::Log,
                2 => PartKind::Segment,
                3 => PartKind::Foreign,
                _ => return None,
            };
            let len = fields.byte()?;
            let name = std::str::from_utf8(fields.bytes(len.into())?).ok()?.to_owned();
            let len = fields.short()?;
            Some(PartFacts { kind, name, facts: fields.bytes(len as usize)?.to_vec() })
        };
        let parts = (0..parts).map(|_| part(&mut fields)).collect::<Option<Vec<_>>>()?;
        let state = fields.bytes(state as usize)?.to_vec();
        let fits = fields.0.is_empty() && len as usize == bytes.len();
        let counts = base <= sequence && sequence <= MAX_SEQUENCE;
        (fits && counts).then_some(Manifest { sequence, base, salt, next, parts, state })
    }

    /// Would these bytes be a manifest with the right magic?
    fn is_whole_but_for_magic(bytes: &[u8]) -> bool {
        let rest = bytes.get(MAGIC.len()..).unwrap_or_default();
        Manifest::decode(&[MAGIC, rest].concat()).is_some()
    }

    /// Returns whether it is the manifest of a durable commit.
    pub fn is_durable(&self) -> bool {
        self.sequence == self.base
    }

    /// Facts of a part; `None` if the manifest does not name it.
    pub fn part(&self, kind: PartKind, name: &str) -> Option<&[u8]> {
        let part = self.parts.iter().find(|part| part.kind == kind && part.name == name);
        Some(&part?.facts)
    }

    /// Reads the manifest of the last durable commit in `dir`; `None` when there is none.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Manifest>> {
        let old = |name: &str, bytes: &[u8]| {
            let magic = OLD_MAGICS.into_iter().find(|magic| bytes.starts_with(magic))?;
            let text = |magic: &[u8]| String::from_utf8_lossy(magic).into_owned();
            let (expected, found) = (text(MAGIC), text(magic));
            Some(Error::OtherFormat { path: dir.join(name), expected, found })
        };
        let Some(bytes) = read_file(disk, &dir.join(NAME))? else {
            let bytes = read_file(disk, &dir.join(OLD_NAME))?.unwrap_or_default();
            return old(OLD_NAME, &bytes).map_or(Ok(None), Err);
        };
        // a manifest of this format is corrupt if a corrupt byte gives it the name of an older
        // format
        if !Manifest::is_whole_but_for_magic(&bytes)
            && let Some(error) = old(NAME, &bytes)
        {
            return Err(error);
        }
        let found = || format!("{} other bytes", bytes.len());
        let corruption = || corrupt(dir, "a checksum over all of it", found());
        Manifest::decode(&bytes).map(Some).ok_or_else(corruption)
    }

    /// Reads the manifest in file `number` of light commits; `None` when there is no such file.
    pub fn read_light(disk: &dyn Disk, dir: &Path, number: usize) -> Result<Option<Manifest>> {
        let path = dir.join(LIGHT[number]);
        let Some(bytes) = read_file(disk, &path)? else { return Ok(None) };
        // a longer one may have stood there before
        let len = bytes.get(8..).and_then(|bytes| Fields(bytes).short()).unwrap_or(0);
        let whole = bytes.get(..len as usize).and_then(Manifest::decode);
        whole.map(Some).ok_or_else(|| Error::Corrupt {
            path,
            offset: 0,
            what: "light commit",
            expected: "a checksum over all of it".into(),
            found: format!("{} other bytes", bytes.len()),
        })
    }

    /// Makes this the manifest of a folder, durably.
    pub fn write(&self, folder: &Folder) -> Result<()> {
        let (path, bytes) = (folder.dir.join(TEMPORARY), self.encode());
        let file = folder.disk.open(&path, Open::Empty).map_err(io_error("create", &path))?;
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all_at(half, 0).map_err(io_error("write", &path))?;
        folder.reach(CrashPoint::HalfManifest)?;
        file.write_all_at(rest, half.len() as u64).map_err(io_error("write", &path))?;
        file.sync().map_err(io_error("sync", &path))?;
        folder.reach(CrashPoint::BeforeRename)?;
        let renamed = folder.disk.rename(&path, &folder.dir.join(NAME));
        renamed.map_err(io_error("rename", &path))?;
        folder.reach(CrashPoint::AfterRename)?;
        folder.sync()
    }

    /// Writes this over the older light commit, for the operating system to keep.
    pub fn write_light(&self, folder: &Folder, files: &mut LightFiles) -> Result<()> {
        let number = (self.sequence % 2) as usize;
        let (path, bytes) = (folder.dir.join(LIGHT[number]), self.encode());
        let file = match &mut files[number] {
            Some(file) => file,
            none => {
                let file = folder.disk.open(&path, Open::Create);
                none.insert(file.map_err(io_error("create", &path))?)
            }
        };
        let is_due = folder.is_due(CrashPoint::HalfLight);
        let bytes = if is_due { &bytes[..bytes.len() / 2] } else { &bytes };
        file.write_all_at(bytes, 0).map_err(io_error("write", &path))?;
        if is_due {
            return Err(Error::Crash(CrashPoint::HalfLight));
        }
        folder.reach(CrashPoint::AfterLight)
    }
}

/// The files of light commits, once they are open.
pub(crate) type LightFiles = [Option<Arc<dyn DiskFile>>; 2];

/// The bytes of a small file; `None` when there is none.
fn read_file(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>> {
    let file = match disk.open(path, Open::Read) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io_error("open", path))?,
    };
    let len = file.bytes().map_err(io_error("read", path))?;
    let mut bytes = vec![0; len.min(MAX_BYTES) as usize];
    file.read_exact_at(&mut bytes, 0).map_err(io_error("read", path))?;
    Ok(Some(bytes))
}

/// The error for a manifest that is not as written.
pub fn corrupt(dir: &Path, expected: impl Into<String>, found: impl Into<String>) -> Error {
    let (path, expected, found) = (dir.join(NAME), expected.into(), found.into());
    Error::Corrupt { path, offset: 0, what: "manifest", expected, found }
}

/// Checks the length of the caller's state.
pub(crate) fn check_state(state: &[u8]) -> Result<()> {
    if state.len() <= MAX_STATE {
        return Ok(());
    }
    Err(mismatch("bytes of state", format!("at most {MAX_STATE}"), state.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_and_no_flipped_bit_passes() {
        let part = |kind, name: &str| PartFacts { kind, name: name.into(), facts: vec![7; 40] };
        let parts = vec![part(PartKind::Table, "coins"), part(PartKind::Log, "undo")];
        let (state, salt) = (b"tip and height".to_vec(), Salt([1, 2, 3]));
        let manifest = Manifest { sequence: 9, base: 4, salt, next: 8, parts, state };
        let bytes = manifest.encode();
        assert_eq!(Manifest::decode(&bytes).as_ref(), Some(&manifest));
        assert_eq!(manifest.part(PartKind::Log, "undo"), Some(&[7; 40][..]));
        assert_eq!(manifest.part(PartKind::Table, "undo"), None);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Manifest::decode(&other), None);
        }
        assert!((0..bytes.len()).all(|len| Manifest::decode(&bytes[..len]).is_none()));
    }

    #[test]
    fn a_number_without_a_next_one_is_corruption() {
        let (parts, state) = (vec![], vec![]);
        let last = MAX_SEQUENCE;
        let manifest =
            Manifest { sequence: last, base: 0, salt: Salt([0; 3]), next: 0, parts, state };
        assert!(Manifest::decode(&manifest.encode()).is_some());
        for (sequence, base) in [(last + 1, 0), (7, 8)] {
            let other = Manifest { sequence, base, ..manifest.clone() };
            assert!(Manifest::decode(&other.encode()).is_none());
        }
    }
}
