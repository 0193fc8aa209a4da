//! The upper levels and the references on disk: all of them at each checkpoint, in a file with one
//! sum. Layout: `docs/formats/pages.md`.

use std::sync::Arc;

use super::{
    Pages, Trie,
    key::{Form, Reference},
    upper::{Arena, Below, Branch, Child},
};
use crate::{
    disk::{DiskFile, Open},
    error::{Error, Result, io_error, mismatch, missing_or},
    manifest::Fields,
};

const MAGIC: &[u8; 8] = b"BMPAGES1";
/// Bytes that are collected before they are written.
const WRITE: usize = 1 << 20;
/// Kinds of children.
const CELL: u8 = 1;
const BRANCH: u8 = 2;
/// Bit of a kind: the reference is the node itself.
const INLINE: u8 = 0x80;

struct Writer {
    file: Arc<dyn DiskFile>,
    path: std::path::PathBuf,
    buffer: Vec<u8>,
    written: u64,
    sum: crc32fast::Hasher,
}

impl Writer {
    fn flush(&mut self) -> Result<()> {
        self.sum.update(&self.buffer);
        let written = self.file.write_all_at(&self.buffer, self.written);
        written.map_err(io_error("write", &self.path))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn child(&mut self, child: &Child, arena: &Arena) -> Result<()> {
        let form = if child.reference.form == Form::Inline { INLINE } else { 0 };
        let head = |kind: u8| kind | form;
        match child.below() {
            Below::Page(page) => {
                self.buffer.push(head(CELL));
                self.buffer.extend_from_slice(&child.reference.bytes);
                self.buffer.extend(page.to_le_bytes());
                self.buffer.extend([child.count() as u8, child.grains()]);
            }
            Below::Branch(at) => {
                let branch = arena.get(at);
                self.buffer.push(head(BRANCH));
                self.buffer.extend_from_slice(&child.reference.bytes);
                self.buffer.push(branch.path.len() as u8);
                self.buffer.extend_from_slice(&branch.path);
                self.buffer.extend(branch.mask().to_le_bytes());
                if self.buffer.len() >= WRITE {
                    self.flush()?;
                }
                for (_, child) in branch.children() {
                    self.child(child, arena)?;
                }
            }
            Below::Buffer(at) => {
                return Err(mismatch("cell", "one that was written", at));
            }
        }
        Ok(())
    }
}

/// Writes and syncs the index under this number; its bytes.
pub(super) fn write(pages: &Pages, number: u64) -> Result<u64> {
    let path = pages.index_path(number);
    let file = pages.folder.disk.open(&path, Open::Empty).map_err(io_error("create", &path))?;
    let (buffer, sum) = (MAGIC.to_vec(), crc32fast::Hasher::new());
    let mut out = Writer { file, path, buffer, written: 0, sum };
    for (number, trie) in (0u32..).zip(&pages.tries) {
        let Some(top) = &trie.top else { continue };
        out.buffer.extend(number.to_le_bytes());
        out.buffer.extend_from_slice(&trie.account);
        out.child(top, &pages.arena)?;
    }
    out.flush()?;
    out.buffer = std::mem::take(&mut out.sum).finalize().to_le_bytes().to_vec();
    out.flush()?;
    out.file.sync().map_err(io_error("sync", &out.path))?;
    Ok(out.written)
}

/// Reads the index of the last commit, its number and its bytes.
pub(super) fn read(pages: &mut Pages, (number, bytes): (u64, u64)) -> Result<()> {
    let path = pages.index_path(number);
    let disk = &pages.folder.disk;
    let file = disk.open(&path, Open::Read).map_err(|source| missing_or(source, &path))?;
    let found = file.bytes().map_err(io_error("read", &path))?;
    let damaged = |offset: u64, expected: &str, found: String| Error::Damaged {
        path: path.clone(),
        offset,
        what: "references of pages",
        expected: expected.into(),
        found,
    };
    if found != bytes {
        return Err(damaged(found, &format!("{bytes} bytes"), format!("{found} bytes")));
    }
    let mut all = vec![0; found as usize];
    file.read_exact_at(&mut all, 0).map_err(io_error("read", &path))?;
    let other = || damaged(0, "a sum over all of it", format!("{found} other bytes"));
    let (body, sum) = all.split_last_chunk().ok_or_else(other)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(other());
    }
    let mut fields = Fields(body.strip_prefix(MAGIC).ok_or_else(other)?);
    while !fields.0.is_empty() {
        let at = bytes - fields.0.len() as u64;
        trie(pages, &mut fields).ok_or_else(|| damaged(at, "a trie", "something else".into()))?;
    }
    let numbers = 1..pages.tries.len() as u32;
    let is_free = |number: &u32| pages.tries[*number as usize].top.is_none();
    pages.free_tries = numbers.filter(is_free).collect();
    Ok(())
}

fn trie(pages: &mut Pages, fields: &mut Fields<'_>) -> Option<()> {
    let (number, account) = (fields.short()?, fields.array()?);
    // numbers ascend; those that are left out are free
    let next = pages.tries.len() as u32;
    if number != Pages::FIRST && (number < next || u64::from(number) > 1 << 31) {
        return None;
    }
    let top = Some(child(&mut pages.arena, fields, 0)?);
    if number != Pages::FIRST {
        pages.tries.resize_with(number as usize, Trie::default);
        pages.tries.push(Trie { account, top });
        pages.storage.insert(account, number);
    } else {
        pages.tries[0].top = top;
    }
    Some(())
}

fn child(arena: &mut Arena, fields: &mut Fields<'_>, depth: usize) -> Option<Child> {
    let kind = fields.byte()?;
    let form = if kind & INLINE != 0 { Form::Inline } else { Form::Hash };
    let reference = Reference { bytes: fields.array()?, form };
    let child = match kind & !INLINE {
        CELL => {
            let page = fields.short().filter(|page| page >> 31 == 0)?;
            let (count, grains) = (fields.byte()?, fields.byte()?);
            Child::paged(page, Some(count).filter(|count| *count > 0)?, grains)
        }
        BRANCH => {
            let len = usize::from(fields.byte()?);
            let depth = depth + len;
            if depth >= 64 {
                return None;
            }
            let mut branch = Branch::new(fields.bytes(len)?);
            let mask = u16::from_le_bytes(fields.array()?);
            for nibble in (0..16).filter(|nibble| mask >> nibble & 1 == 1) {
                branch.set(nibble, Some(self::child(arena, fields, depth + 1)?));
            }
            Child::branch(arena.add(branch)?)
        }
        _ => return None,
    };
    Some(child.with(reference))
}
