//! A branch as a record of a page, and children as such records and the files of references have
//! them. Layout: `docs/formats/pages.md`.

use super::{
    branches::{Below, Branch, Child},
    cell::{self, Place, Record},
    key::{Form, Reference},
    read::Found,
    update::with_nibble,
};
use blockmill_store::{
    Result,
    part::{Fields, mismatch},
};
use blockmill_trie::nibbles::nibble;

/// Kinds of children, above the nibble under which they hang.
pub(super) const CELL: u8 = 1 << 4;
pub(super) const BRANCH: u8 = 2 << 4;
pub(super) const EVICTED: u8 = 3 << 4;
/// Bit of a kind: the reference is the node itself.
const INLINE: u8 = 0x80;
/// Bytes of a child that is in a page: kind, reference, page, entries, length, offset.
const CHILD: usize = 1 + 32 + 4 + 3;

/// The kind of a child, by the byte that it begins with.
pub(super) fn kind(head: u8) -> u8 {
    head & !INLINE & 0xf0
}

/// Encodes a child: kind, reference, and for a child in a page its location.
pub(super) fn write(half: u8, child: &Child, out: &mut Vec<u8>) -> Result<()> {
    let form = if child.reference().form == Form::Inline { INLINE } else { 0 };
    let (kind, page) = match child.below() {
        Below::Page(page) => (CELL, Some(page)),
        Below::Evicted(page) => (EVICTED, Some(page)),
        Below::Branch(_) => (BRANCH, None),
        Below::Buffer(at) => return Err(mismatch("cell", "one that was written", at)),
    };
    out.push(kind | form | half);
    out.extend_from_slice(&child.reference().bytes);
    if let Some(page) = page {
        let count = if kind == CELL { child.count() as u8 } else { 0 };
        out.extend(page.to_le_bytes());
        out.extend([count, child.length_units(), child.offset_units()]);
    }
    Ok(())
}

/// Reads the reference of a child that begins with this byte.
pub(super) fn read_reference(head: u8, fields: &mut Fields<'_>) -> Option<Reference> {
    let form = if head & INLINE != 0 { Form::Inline } else { Form::Hash };
    Some(Reference { bytes: fields.array()?, form })
}

/// Decodes the location of a child of this kind in a page.
pub(super) fn read_place(kind: u8, fields: &mut Fields<'_>) -> Option<Child> {
    let page = fields.short().filter(|page| page >> 31 == 0)?;
    let [count, length_units, offset_units] = fields.array()?;
    match (kind, count) {
        (CELL, _) => Child::paged(page, count, length_units, offset_units),
        (EVICTED, 0) => Some(Child::evicted(page, length_units, offset_units)),
        _ => None,
    }
}

/// Encodes a branch whose children are all in pages.
pub(super) fn encode(place: &Place, branch: &Branch) -> Result<Vec<u8>> {
    let count = branch.children().count();
    let len = cell::head_len(place.depth) + 1 + branch.path.len() + count * CHILD;
    let mut out = cell::head(place, cell::BRANCH | count as u8, len);
    out.push(branch.path.len() as u8);
    out.extend_from_slice(&branch.path);
    branch.children().try_for_each(|(half, child)| write(half, child, &mut out))?;
    match out.len() == len {
        true => Ok(out),
        false => Err(mismatch("children of a branch", "all in pages", "others")),
    }
}

/// Decodes path and children of a branch; `None` if the bytes are something else.
fn parts(record: &[u8]) -> Option<(&[u8], &[[u8; CHILD]])> {
    let Record { depth, is_branch: true, body, .. } = Record::new(record)? else { return None };
    let mut fields = Fields(body);
    let len = usize::from(fields.byte()?);
    let path = fields.bytes(len)?;
    let (children, rest) = fields.0.as_chunks();
    // below a key there is nothing, nor is a branch without children
    let is_branch = depth + len < 64 && path.iter().all(|half| *half < 16);
    (is_branch && rest.is_empty() && !children.is_empty()).then_some((path, children))
}

fn child(bytes: &[u8; CHILD]) -> Option<Child> {
    let mut fields = Fields(bytes);
    let head = fields.byte()?;
    let reference = read_reference(head, &mut fields)?;
    Some(read_place(kind(head), &mut fields)?.with(reference))
}

fn no_branch() -> blockmill_store::Error {
    mismatch("record", "a branch", "something else")
}

/// The branch in a record. All of its children count as changed.
pub(super) fn decode(record: &[u8]) -> Result<Branch> {
    let (path, children) = parts(record).ok_or_else(no_branch)?;
    let mut branch = Branch::new(path);
    branch.reserve(children.len());
    for bytes in children {
        branch.set(bytes[0] & 15, Some(child(bytes).ok_or_else(no_branch)?));
    }
    Ok(branch)
}

/// From the record of the branch at `place`: the child on the way to the key of `place`; `None` if
/// there is none.
pub(super) fn step(record: &[u8], place: &Place) -> Result<Option<Found>> {
    let (path, children) = parts(record).ok_or_else(no_branch)?;
    let parting = place.depth + path.len();
    let mut way = (place.depth..).zip(path);
    if parting >= 64 || way.any(|(at, half)| nibble(&place.key, at) != *half) {
        return Ok(None);
    }
    let half = nibble(&place.key, parting);
    let Some(bytes) = children.iter().find(|bytes| bytes[0] & 15 == half) else {
        return Ok(None);
    };
    let child = child(bytes).ok_or_else(no_branch)?;
    Ok(Some(Found { place: Place { depth: parting + 1, ..*place }, child }))
}

/// The children of the branch at `place`, with their places.
pub(super) fn places(place: &Place, branch: &Branch) -> Vec<Found> {
    let parting = place.depth + branch.path.len();
    let way = (place.depth..).zip(&branch.path);
    let key = way.fold(place.key, |key, (at, half)| with_nibble(key, at, *half));
    let child = |(half, child): (u8, &Child)| {
        let key = with_nibble(key, parting, half);
        Found { place: Place { key, depth: parting + 1, ..*place }, child: *child }
    };
    branch.children().map(child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::cell::ACCOUNTS;
    use blockmill_testkit::{Random, rounds};

    fn branch(random: &mut Random, depth: usize) -> Branch {
        let path = random.below(64 - depth);
        let path: Vec<u8> = (0..path).map(|_| random.below(16_u8)).collect();
        let mut branch = Branch::new(&path);
        let halves: Vec<u8> = (0..16).filter(|half| *half == 7 || random.coin()).collect();
        for half in halves {
            let (page, length_units, offset_units) =
                (random.below(1_u32 << 31), random.below(255_u8), 3);
            let child = match random.coin() {
                true => {
                    Child::paged(page, 1 + random.below(32_u8), length_units, offset_units).unwrap()
                }
                false => Child::evicted(page, length_units, offset_units),
            };
            let form = if random.coin() { Form::Hash } else { Form::Inline };
            branch.set(half, Some(child.with(Reference { form, bytes: random.array() })));
        }
        branch
    }

    fn debug_text(branch: &Branch) -> String {
        format!("{branch:?}")
    }

    #[test]
    fn a_branch_comes_back_and_leads_to_its_children() {
        let mut random = Random::new(1);
        for round in 0..rounds(2000) {
            let place = Place { trie: ACCOUNTS, key: random.array(), depth: round % 64 };
            let branch = branch(&mut random, place.depth);
            let record = encode(&place, &branch).unwrap();
            assert_eq!(debug_text(&decode(&record).unwrap()), debug_text(&branch));
            for found in places(&place, &branch) {
                let on_the_way = Place { depth: place.depth, ..found.place };
                let step = step(&record, &on_the_way).unwrap();
                assert_eq!(format!("{step:?}"), format!("{:?}", Some(found)));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_branch_do_no_harm() {
        let mut random = Random::new(2);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..rounds(20_000) {
            let place = Place { trie: 9, key: random.array(), depth: random.below(64_usize) };
            let mut record = encode(&place, &branch(&mut random, place.depth)).unwrap();
            random.flip(&mut record);
            if random.coin() {
                record.truncate(random.below(record.len() + 1));
            }
            let place = Place { depth: Record::new(&record).map_or(0, |head| head.depth), ..place };
            _ = step(&record, &place);
            match decode(&record) {
                Ok(branch) => read += places(&place, &branch).len(),
                Err(_) => refused += 1,
            }
        }
        assert!(read > 0 && refused > 0, "{read} children, {refused} refused");
        // below a whole key, and nibbles that are none
        let place = |depth| Place { trie: 9, key: [0x35; 32], depth };
        let mut record = encode(&place(63), &branch(&mut random, 63)).unwrap();
        record[6] = 64;
        assert!(decode(&record).is_err() && step(&record, &place(64)).is_err());
        let mut branch = branch(&mut random, 0);
        branch.path = [3].into();
        let mut record = encode(&place(0), &branch).unwrap();
        assert!(decode(&record).is_ok());
        record[cell::head_len(0) + 1] = 0x13;
        assert!(decode(&record).is_err());
    }
}
