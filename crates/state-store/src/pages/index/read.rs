//! Reading references: the sections of the files that a manifest names, one upon the other.

use super::{END, HEADER, IndexFile, IndexFiles, MAGIC, merge::Merge, sum};
use crate::pages::{Pages, Trie};
use blockmill_store::{
    Error, Result,
    disk::Open,
    part::{Fields, io_error, missing_or},
};

/// Reads the references of the last commit.
pub(in crate::pages) fn read(pages: &mut Pages, files: &IndexFiles) -> Result<()> {
    for file in files.before.iter().chain([&files.current]) {
        read_file(pages, *file)?;
    }
    let path = pages.index_path(files.current.number);
    let corrupt = |expected: &str, found: String| {
        let (what, expected) = ("references of pages", expected.into());
        Error::Corrupt { path: path.clone(), offset: files.current.bytes, what, expected, found }
    };
    let Pages { tries, arena, storage, free_tries, .. } = pages;
    for (number, trie) in (0u32..).zip(tries) {
        let Some(top) = &mut trie.top else {
            free_tries.extend((number != Pages::FIRST).then_some(number));
            continue;
        };
        if !arena.mark_unchanged(top) {
            let found = format!("less than its branches say, in trie {number}");
            return Err(corrupt("the references of all cells", found));
        }
        if number != Pages::FIRST && storage.insert(trie.account, number).is_some() {
            return Err(corrupt("one trie of an account", format!("trie {number}, too")));
        }
    }
    Ok(())
}

fn read_file(pages: &mut Pages, file: IndexFile) -> Result<()> {
    let IndexFile { number, bytes } = file;
    let path = pages.index_path(number);
    let disk = &pages.folder.disk;
    let file = disk.open(&path, Open::Read).map_err(|source| missing_or(source, &path))?;
    let found = file.bytes().map_err(io_error("read", &path))?;
    let corrupt = |offset: u64, expected: &str, found: String| Error::Corrupt {
        path: path.clone(),
        offset,
        what: "references of pages",
        expected: expected.into(),
        found,
    };
    if found < bytes {
        return Err(corrupt(found, &format!("{bytes} bytes"), format!("{found} bytes")));
    }
    let read =
        |at: u64, room: &mut [u8]| file.read_exact_at(room, at).map_err(io_error("read", &path));
    let mut at = MAGIC.len() as u64;
    let mut magic = [0; MAGIC.len()];
    if bytes >= at {
        read(0, &mut magic)?;
    }
    if magic != *MAGIC {
        return Err(corrupt(0, "BMPAGES3", "something else".into()));
    }
    while at < bytes {
        let mut header = [0; HEADER];
        let left = (bytes - at).checked_sub(HEADER as u64);
        let left = left.ok_or_else(|| corrupt(at, "a section", "less than its header".into()))?;
        read(at, &mut header)?;
        let mut fields = Fields(&header);
        let (len, expected) = (fields.long().unwrap_or(0), fields.short().unwrap_or(0));
        if len > left {
            return Err(corrupt(at, &format!("at most {left} bytes"), format!("{len} bytes")));
        }
        let mut body = vec![0; len as usize];
        read(at + HEADER as u64, &mut body)?;
        let mut sum = sum(number, at);
        sum.update(&body);
        let found = sum.finalize();
        if found != expected {
            return Err(corrupt(at, &format!("CRC-32 {expected:08x}"), format!("{found:08x}")));
        }
        section(pages, &body).map_err(|left| {
            corrupt(at + HEADER as u64 + (body.len() - left) as u64, "a trie", "other bytes".into())
        })?;
        at += HEADER as u64 + len;
    }
    Ok(())
}

/// Applies a section. If it is malformed, returns the number of bytes left from there on.
fn section(pages: &mut Pages, body: &[u8]) -> std::result::Result<(), usize> {
    let mut fields = Fields(body);
    let mut before = None;
    while !fields.0.is_empty() {
        let left = fields.0.len();
        before = Some(trie(pages, &mut fields, before).ok_or(left)?);
    }
    Ok(())
}

/// Applies the part of a section for one trie, whose number is greater than that of the trie
/// before.
fn trie(pages: &mut Pages, fields: &mut Fields<'_>, before: Option<u32>) -> Option<u32> {
    let (number, account) = (fields.short()?, fields.array()?);
    if before.is_some_and(|before| before >= number) || u64::from(number) > 1 << 31 {
        return None;
    }
    if pages.tries.len() <= number as usize {
        pages.tries.resize_with(number as usize + 1, Trie::default);
    }
    let mut old = std::mem::take(&mut pages.tries[number as usize]);
    if old.account != account
        && let Some(top) = old.top.take()
    {
        pages.arena.free(&top);
    }
    let head = fields.byte()?;
    let mut merge = Merge { arena: &mut pages.arena, fields };
    let top = match head {
        END => {
            old.top.iter().for_each(|top| merge.arena.free(top));
            None
        }
        head => Some(merge.child(head, old.top.map(|top| (top, 0)), 0)?),
    };
    pages.tries[number as usize] = Trie { account, top, was_removed: false };
    Some(number)
}
