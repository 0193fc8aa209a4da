//! The manifest: the parts of a store, what each of them holds, and the caller's state.
//!
//! It is written under a temporary name, synced, and renamed over the old one: at any moment there
//! is one whole manifest, and what it names is true together. Layout: `docs/formats/store.md`.

use std::path::Path;

use crate::{
    crash::CommitPoint,
    disk::{Disk, Open},
    error::{Error, Result, io_error, mismatch},
    folder::Folder,
    table::Salt,
};

/// The file's name.
pub(crate) const NAME: &str = "manifest";
/// Its name until it is whole.
pub(crate) const TEMPORARY: &str = "manifest.new";
const MAGIC: &[u8; 8] = b"BMSTORE3";
/// What the format before began with.
const OLD_MAGIC: &[u8] = b"BMPOINT1";
/// The longest state.
pub(crate) const MAX_STATE: usize = 1 << 20;
/// The largest manifest that is read.
const MAX_BYTES: u64 = 1 << 26;

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    Table,
    Log,
}

/// A part and what it holds, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartFacts {
    pub kind: PartKind,
    pub name: String,
    pub facts: Vec<u8>,
}

/// What the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub salt: Salt,
    /// The number of the next file.
    pub next: u64,
    pub parts: Vec<PartFacts>,
    pub state: Vec<u8>,
}

/// Takes numbers and bytes off the front.
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    pub fn short(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes(4)?.first_chunk()?))
    }

    pub fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.bytes(8)?.first_chunk()?))
    }
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.salt.0.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(self.next.to_le_bytes());
        out.extend((self.parts.len() as u32).to_le_bytes());
        out.extend((self.state.len() as u32).to_le_bytes());
        for PartFacts { kind, name, facts } in &self.parts {
            out.push(*kind as u8);
            out.push(name.len() as u8);
            out.extend(name.as_bytes());
            out.extend((facts.len() as u32).to_le_bytes());
            out.extend(facts);
        }
        out.extend(&self.state);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Manifest> {
        let (body, sum) = bytes.split_last_chunk()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return None;
        }
        let mut fields = Fields(body.strip_prefix(MAGIC)?);
        let salt = Salt([fields.long()?, fields.long()?, fields.long()?]);
        let (next, parts, state) = (fields.long()?, fields.short()?, fields.short()?);
        let part = |fields: &mut Fields| {
            let kind = match fields.byte()? {
                0 => PartKind::Table,
                1 => PartKind::Log,
                _ => return None,
            };
            let len = fields.byte()?;
            let name = std::str::from_utf8(fields.bytes(len.into())?).ok()?.to_owned();
            let len = fields.short()?;
            Some(PartFacts { kind, name, facts: fields.bytes(len as usize)?.to_vec() })
        };
        let parts = (0..parts).map(|_| part(&mut fields)).collect::<Option<Vec<_>>>()?;
        let state = fields.bytes(state as usize)?.to_vec();
        fields.0.is_empty().then_some(Manifest { salt, next, parts, state })
    }

    /// What a part holds; none when the manifest does not name it.
    pub fn part(&self, kind: PartKind, name: &str) -> Option<&[u8]> {
        let part = self.parts.iter().find(|part| part.kind == kind && part.name == name);
        Some(&part?.facts)
    }

    /// Reads the manifest of `dir`; `None` when there is none.
    pub fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(NAME);
        let file = match disk.open(&path, Open::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(io_error("open", &path))?,
        };
        let len = file.bytes().map_err(io_error("read", &path))?;
        let mut bytes = vec![0; len.min(MAX_BYTES) as usize];
        file.read_exact_at(&mut bytes, 0).map_err(io_error("read", &path))?;
        if bytes.starts_with(OLD_MAGIC) {
            let text = |magic: &[u8]| String::from_utf8_lossy(magic).into_owned();
            let (expected, found) = (text(MAGIC), text(OLD_MAGIC));
            return Err(Error::OtherFormat { path, expected, found });
        }
        match Manifest::decode(&bytes) {
            Some(manifest) => Ok(Some(manifest)),
            None => Err(damaged(dir, "a checksum over all of it", format!("{len} other bytes"))),
        }
    }

    /// Makes this the manifest of a folder, durably.
    pub fn write(&self, folder: &Folder) -> Result<()> {
        check_state(&self.state)?;
        let (path, bytes) = (folder.dir.join(TEMPORARY), self.encode());
        let file = folder.disk.open(&path, Open::Empty).map_err(io_error("create", &path))?;
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all_at(half, 0).map_err(io_error("write", &path))?;
        folder.reach(CommitPoint::HalfManifest)?;
        file.write_all_at(rest, half.len() as u64).map_err(io_error("write", &path))?;
        file.sync().map_err(io_error("sync", &path))?;
        folder.reach(CommitPoint::BeforeRename)?;
        let renamed = folder.disk.rename(&path, &folder.dir.join(NAME));
        renamed.map_err(io_error("rename", &path))?;
        folder.reach(CommitPoint::AfterRename)?;
        folder.sync()
    }
}

/// The error for a manifest that is not as written.
pub(crate) fn damaged(dir: &Path, expected: impl Into<String>, found: impl Into<String>) -> Error {
    let (path, expected, found) = (dir.join(NAME), expected.into(), found.into());
    Error::Damaged { path, offset: 0, what: "manifest", expected, found }
}

/// Is the caller's state short enough?
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
        let state = b"tip and height".to_vec();
        let manifest = Manifest { salt: Salt([1, 2, 3]), next: 8, parts, state };
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
}
