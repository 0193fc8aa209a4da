//! Items as JSON with their types, as application logs show them.

use hashbrown::HashMap;

use super::{Fault, Heap, Item, MAX_SIZE, Ref};
use crate::execute::native::base64;

/// What is still to be written.
enum Work {
    Item(Item),
    /// A compound that started somewhere, from an index on.
    Next {
        item: Item,
        place: Ref,
        start: usize,
        index: usize,
    },
}

/// An item with its type and those of all that it holds.
///
/// # Errors
///
/// Cycles, and more text than an item may have.
pub fn with_types(heap: &Heap, item: &Item) -> Result<String, Fault> {
    let mut out = String::new();
    let mut seen: HashMap<Ref, Option<(usize, usize)>> = HashMap::new();
    let mut work = vec![Work::Item(item.clone())];
    while let Some(next) = work.pop() {
        match next {
            Work::Item(item) => match item.place() {
                None => write_plain(&item, &mut out),
                Some(place) => match seen.get(&place) {
                    Some(None) => return Err(Fault::Recursive),
                    Some(Some((start, end))) => {
                        check(out.len() + end - start)?;
                        out.extend_from_within(*start..*end);
                    }
                    None => {
                        seen.insert(place, None);
                        let start = out.len();
                        out.push_str(&format!("{{\"type\":\"{}\",\"value\":[", item.kind().name()));
                        work.push(Work::Next { item, place, start, index: 0 });
                    }
                },
            },
            Work::Next { item, place, start, index } if index == heap.len(place) => {
                let ends_entry = index > 0 && matches!(item, Item::Map(_));
                out.push_str(if ends_entry { "}]}" } else { "]}" });
                seen.insert(place, Some((start, out.len())));
            }
            Work::Next { item, place, start, index } => {
                let value = part(heap, &item, place, index, &mut out)?;
                work.push(Work::Next { item, place, start, index: index + 1 });
                work.push(Work::Item(value));
            }
        }
        check(out.len())?;
    }
    Ok(out)
}

fn check(len: usize) -> Result<(), Fault> {
    if len > MAX_SIZE { Err(Fault::TooBig(len)) } else { Ok(()) }
}

/// A part of a compound; what stands before it is written.
fn part(
    heap: &Heap,
    item: &Item,
    place: Ref,
    index: usize,
    out: &mut String,
) -> Result<Item, Fault> {
    if !matches!(item, Item::Map(_)) {
        out.push_str(if index > 0 { "," } else { "" });
        return heap.list(place).get(index).cloned().ok_or(Fault::Range("index"));
    }
    out.push_str(if index > 0 { "}," } else { "" });
    let (key, value) = heap.map(place)?.get_index(index).ok_or(Fault::Range("index"))?;
    out.push_str("{\"key\":");
    write_plain(&key.0, out);
    out.push_str(",\"value\":");
    Ok(value.clone())
}

fn write_plain(item: &Item, out: &mut String) {
    let value = match item {
        Item::Bool(value) => value.to_string(),
        Item::Int(value) => format!("\"{value}\""),
        Item::Big(value) => format!("\"{value}\""),
        Item::Pointer(pointer) => pointer.position.to_string(),
        Item::Short(..) | Item::Bytes(_) | Item::Buffer(_) => {
            let text = item.with_bytes(|bytes| base64::encode(bytes, &base64::STANDARD));
            format!("\"{}\"", String::from_utf8_lossy(&text.unwrap_or_default()))
        }
        other => {
            out.push_str(&format!("{{\"type\":\"{}\"}}", other.kind().name()));
            return;
        }
    };
    out.push_str(&format!("{{\"type\":\"{}\",\"value\":{value}}}", item.kind().name()));
}
