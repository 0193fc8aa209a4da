//! The binary form of items: in storage, in notifications, in application logs.

use hashbrown::HashMap;

use crate::types::write;

use super::{Entries, Fault, Heap, Integer, Item, Key, MAX_SIZE, Ref, Type, integer::MAX_BYTES};

/// The most items in a serialized item.
pub const MAX_SERIALIZED: usize = 2_048;

/// A part that was written already: where, and how many items it is.
#[derive(Clone, Copy)]
struct Written {
    start: usize,
    end: usize,
    items: usize,
}

/// Pending work of the serializer.
enum Work {
    Item(Item),
    /// A compound ends: where it started, and how many items were left then.
    End(Ref, usize, usize),
}

/// The binary form of an item.
///
/// # Errors
///
/// Returns a fault for pointers, interop objects, cycles, too many items or too many bytes.
pub fn serialize(heap: &Heap, item: &Item) -> Result<Vec<u8>, Fault> {
    write(heap, item, false)
}

/// Represents an item without a binary form in logs (`stackitem.InvalidT`).
pub const NO_FORM: u8 = 0xff;

/// The binary form for logs, which pointers and objects of the host have too; [`NO_FORM`] where an
/// item has none.
#[must_use]
pub fn protected(heap: &Heap, item: &Item) -> Vec<u8> {
    write(heap, item, true).unwrap_or_else(|_| vec![NO_FORM])
}

fn write(heap: &Heap, item: &Item, any: bool) -> Result<Vec<u8>, Fault> {
    // capacity for a transfer notification
    let mut out = Vec::with_capacity(64);
    if write_flat(&mut out, heap, item, any)? {
        return Ok(out);
    }
    let mut seen: HashMap<Ref, Option<Written>> = HashMap::new();
    let mut left = MAX_SERIALIZED;
    let mut work = vec![Work::Item(item.clone())];
    while let Some(next) = work.pop() {
        let item = match next {
            Work::Item(item) => item,
            Work::End(place, start, before) => {
                let written = Written { start, end: out.len(), items: before - left + 1 };
                seen.insert(place, Some(written));
                continue;
            }
        };
        if let Some(written) = item.place().and_then(|place| seen.get(&place)) {
            let written = written.ok_or(Fault::Recursive)?;
            left = left.checked_sub(written.items).ok_or(Fault::TooManyElements)?;
            check_size(out.len() + written.end - written.start)?;
            out.extend_from_within(written.start..written.end);
            continue;
        }
        left = left.checked_sub(1).ok_or(Fault::TooManyElements)?;
        let start = out.len();
        match item.place() {
            None => write_plain(&mut out, &item, any)?,
            Some(place) => {
                seen.insert(place, None);
                out.push(item.kind() as u8);
                write_size(&mut out, heap.len(place));
                work.push(Work::End(place, start, left));
                push_parts(heap, &item, place, &mut work)?;
            }
        }
        check_size(out.len())?;
    }
    Ok(out)
}

/// Writes an item that holds none or only plain ones, as nearly all do; otherwise nothing, and says
/// so.
fn write_flat(out: &mut Vec<u8>, heap: &Heap, item: &Item, any: bool) -> Result<bool, Fault> {
    let parts = match item {
        Item::Map(_) => return Ok(false),
        Item::Array(place) | Item::Struct(place) => {
            let parts = heap.list(*place);
            let is_flat = parts.iter().all(|part| part.place().is_none());
            if !is_flat || parts.len() >= MAX_SERIALIZED {
                return Ok(false);
            }
            out.push(item.kind() as u8);
            write_size(out, parts.len());
            parts
        }
        plain => std::slice::from_ref(plain),
    };
    for part in parts {
        write_plain(out, part, any)?;
        check_size(out.len())?;
    }
    Ok(true)
}

fn push_parts(heap: &Heap, item: &Item, place: Ref, work: &mut Vec<Work>) -> Result<(), Fault> {
    if !matches!(item, Item::Map(_)) {
        work.extend(heap.list(place).iter().rev().cloned().map(Work::Item));
        return Ok(());
    }
    for (key, value) in heap.map(place)?.iter().rev() {
        work.push(Work::Item(value.clone()));
        work.push(Work::Item(key.0.clone()));
    }
    Ok(())
}

fn check_size(len: usize) -> Result<(), Fault> {
    if len > MAX_SIZE { Err(Fault::TooBig(len)) } else { Ok(()) }
}

fn write_plain(out: &mut Vec<u8>, item: &Item, any: bool) -> Result<(), Fault> {
    match item {
        Item::Interop(_) if any => out.push(Type::Interop as u8),
        Item::Pointer(pointer) if any => {
            out.push(Type::Pointer as u8);
            write_size(out, pointer.position as usize);
        }
        Item::Pointer(_) | Item::Interop(_) => return Err(Fault::Unserializable(item.kind())),
        Item::Null => out.push(Type::Any as u8),
        Item::Bool(value) => out.extend([Type::Boolean as u8, u8::from(*value)]),
        other => {
            out.push(other.kind() as u8);
            other.with_bytes(|bytes| {
                write_size(out, bytes.len());
                out.extend_from_slice(bytes);
            })?;
        }
    }
    Ok(())
}

/// A length in 1, 3, 5 or 9 bytes, as neo-go writes it ([`write::number`]).
pub fn write_size(out: &mut Vec<u8>, len: usize) {
    write::number(out, len as u64);
}

/// An array, a struct or a map being read.
struct OpenContainer {
    kind: Type,
    items: Vec<Item>,
    wanted: usize,
}

/// Reads the binary form of an item; bytes after it do not matter.
///
/// # Errors
///
/// Returns a fault for unknown types, truncated input, too many items or invalid map keys.
pub fn deserialize(heap: &mut Heap, bytes: &[u8]) -> Result<Item, Fault> {
    let mut input = bytes;
    let mut left = MAX_SERIALIZED;
    let mut open: Vec<OpenContainer> = Vec::new();
    loop {
        let mut item = match read_one(&mut input, &mut left)? {
            Ok(item) => item,
            Err(started) if started.wanted > 0 => {
                open.push(started);
                continue;
            }
            Err(empty) => close(heap, empty)?,
        };
        loop {
            let Some(parent) = open.last_mut() else { return Ok(item) };
            parent.items.push(item);
            if parent.items.len() < parent.wanted {
                break;
            }
            let Some(done) = open.pop() else { break };
            item = close(heap, done)?;
        }
    }
}

/// One item, or the start of one that holds others.
fn read_one(input: &mut &[u8], left: &mut usize) -> Result<Result<Item, OpenContainer>, Fault> {
    let number = read(input, 1)?[0];
    *left = left.checked_sub(1).ok_or(Fault::TooManyElements)?;
    let kind = Type::from_byte(number).ok_or(Fault::Rule("invalid type: INVALID"))?;
    Ok(Ok(match kind {
        Type::Any => Item::Null,
        Type::Boolean => Item::Bool(read(input, 1)?[0] != 0),
        Type::Integer => {
            let len = read_size(input, MAX_BYTES)?;
            Item::from(Integer::from_bytes(read(input, len)?)?)
        }
        Type::ByteString => {
            let len = read_size(input, MAX_SIZE)?;
            Item::bytes(read(input, len)?)
        }
        Type::Buffer => {
            let len = read_size(input, MAX_SIZE)?;
            Item::buffer(read(input, len)?.to_vec())
        }
        Type::Array | Type::Struct => {
            let wanted = read_size(input, *left)?;
            return Ok(Err(OpenContainer { kind, items: Vec::new(), wanted }));
        }
        Type::Map => {
            let wanted = read_size(input, *left / 2)? * 2;
            return Ok(Err(OpenContainer { kind, items: Vec::new(), wanted }));
        }
        Type::Pointer => return Err(Fault::Rule("invalid type: Pointer")),
        Type::Interop => return Err(Fault::Rule("invalid type: InteropInterface")),
    }))
}

fn close(heap: &mut Heap, open: OpenContainer) -> Result<Item, Fault> {
    match open.kind {
        Type::Array => Ok(heap.new_array(open.items)),
        Type::Struct => Ok(heap.new_struct(open.items)),
        _ => {
            let mut entries = Entries::with_capacity(open.items.len() / 2);
            let mut items = open.items.into_iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                key.check_key()?;
                entries.insert(Key(key), value);
            }
            Ok(heap.new_map(entries))
        }
    }
}

fn read<'a>(input: &mut &'a [u8], len: usize) -> Result<&'a [u8], Fault> {
    let (bytes, rest) =
        input.split_at_checked(len).ok_or(Fault::Length { expected: len, found: input.len() })?;
    *input = rest;
    Ok(bytes)
}

/// A length of at most `max`.
fn read_size(input: &mut &[u8], max: usize) -> Result<usize, Fault> {
    let first = read(input, 1)?[0];
    let width = match first {
        0xfd => 2,
        0xfe => 4,
        0xff => 8,
        len => {
            return if usize::from(len) > max {
                Err(Fault::TooManyElements)
            } else {
                Ok(len.into())
            };
        }
    };
    let bytes = read(input, width)?;
    let len = bytes.iter().rev().fold(0u64, |len, byte| len << 8 | u64::from(*byte));
    usize::try_from(len).ok().filter(|len| *len <= max).ok_or(Fault::TooManyElements)
}
