//! Writes stack items as JSON.
//!
//! [`write()`] is the only walk over items: it keeps its own stack, so that nesting is not limited
//! by the thread's, and copies the text of a compound that occurs again. An [`ItemFormat`] writes
//! the values: [`with_types`] those of application logs, StdLib's `jsonSerialize` its own.

use hashbrown::HashMap;

use super::{Fault, Heap, Item, MAX_SIZE, Ref};
use crate::execute::native::base64;

/// A JSON form of stack items.
pub trait ItemFormat {
    /// Whether an item that contains itself is refused as such. Otherwise it ends as too much text.
    const REFUSES_CYCLES: bool;

    /// Writes an item that contains no others.
    ///
    /// # Errors
    ///
    /// Returns a fault if the item has no such form.
    fn scalar(&self, item: &Item, out: &mut String) -> Result<(), Fault>;

    /// Begins an array, a struct or a map.
    fn open(&self, item: &Item, out: &mut String);

    /// Writes what precedes the value of a map entry.
    ///
    /// # Errors
    ///
    /// Returns a fault if the key has no such form.
    fn key(&self, key: &Item, out: &mut String) -> Result<(), Fault>;

    /// Writes what follows the value of a map entry.
    fn end_entry(&self, out: &mut String);

    /// Ends an array, a struct or a map.
    fn close(&self, item: &Item, out: &mut String);
}

/// What is still to be written.
enum Work {
    Item(Item),
    /// A compound from element `index` on; its text begins at `start`.
    Elements {
        item: Item,
        place: Ref,
        start: usize,
        index: usize,
    },
}

/// Writes an item and everything that it contains.
///
/// # Errors
///
/// Returns [`Fault::TooBig`] if the text is longer than [`MAX_SIZE`], [`Fault::Recursive`] if an
/// item contains itself and the format refuses that, and the faults of the format.
pub fn write<F: ItemFormat>(heap: &Heap, item: &Item, format: &F) -> Result<String, Fault> {
    let mut out = String::new();
    // the text of each complete compound; `None` while a compound is being written
    let mut written: HashMap<Ref, Option<(usize, usize)>> = HashMap::new();
    let mut work = vec![Work::Item(item.clone())];
    while let Some(next) = work.pop() {
        match next {
            Work::Item(item) => match item.place() {
                None => format.scalar(&item, &mut out)?,
                Some(place) => match written.get(&place) {
                    Some(None) => return Err(Fault::Recursive),
                    Some(Some((start, end))) => {
                        check(out.len() + end - start)?;
                        out.extend_from_within(*start..*end);
                    }
                    None => {
                        if F::REFUSES_CYCLES {
                            written.insert(place, None);
                        }
                        let start = out.len();
                        format.open(&item, &mut out);
                        work.push(Work::Elements { item, place, start, index: 0 });
                    }
                },
            },
            Work::Elements { item, place, start, mut index } => {
                match scalars(heap, (&item, place), &mut index, format, &mut out)? {
                    Some(compound) => {
                        work.push(Work::Elements { item, place, start, index });
                        work.push(Work::Item(compound));
                    }
                    None => {
                        if index > 0 && matches!(item, Item::Map(_)) {
                            format.end_entry(&mut out);
                        }
                        format.close(&item, &mut out);
                        written.insert(place, Some((start, out.len())));
                    }
                }
            }
        }
        check(out.len())?;
    }
    Ok(out)
}

fn check(len: usize) -> Result<(), Fault> {
    if len > MAX_SIZE { Err(Fault::TooBig(len)) } else { Ok(()) }
}

/// Writes elements of a compound from `index` on, up to the next one that is a compound itself.
/// Returns that one, which is not written yet.
fn scalars<F: ItemFormat>(
    heap: &Heap,
    (item, place): (&Item, Ref),
    index: &mut usize,
    format: &F,
    out: &mut String,
) -> Result<Option<Item>, Fault> {
    let is_map = matches!(item, Item::Map(_));
    while *index < heap.len(place) {
        if *index > 0 {
            if is_map {
                format.end_entry(out);
            }
            out.push(',');
        }
        let value = if is_map {
            let entry = heap.map(place)?.get_index(*index);
            let (key, value) = entry.ok_or(Fault::Range("index"))?;
            format.key(&key.0, out)?;
            value
        } else {
            heap.list(place).get(*index).ok_or(Fault::Range("index"))?
        };
        *index += 1;
        if value.place().is_some() {
            return Ok(Some(value.clone()));
        }
        format.scalar(value, out)?;
        check(out.len())?;
    }
    Ok(None)
}

/// Writes an item with its type and the types of all that it contains, as application logs show it.
///
/// # Errors
///
/// Returns [`Fault::Recursive`] for an item that contains itself, [`Fault::TooBig`] for more text
/// than [`MAX_SIZE`].
pub fn with_types(heap: &Heap, item: &Item) -> Result<String, Fault> {
    write(heap, item, &Typed)
}

/// The form of application logs (`stackitem.ToJSONWithTypes`).
struct Typed;

impl ItemFormat for Typed {
    const REFUSES_CYCLES: bool = true;

    fn scalar(&self, item: &Item, out: &mut String) -> Result<(), Fault> {
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
                return Ok(());
            }
        };
        out.push_str(&format!("{{\"type\":\"{}\",\"value\":{value}}}", item.kind().name()));
        Ok(())
    }

    fn open(&self, item: &Item, out: &mut String) {
        out.push_str(&format!("{{\"type\":\"{}\",\"value\":[", item.kind().name()));
    }

    fn key(&self, key: &Item, out: &mut String) -> Result<(), Fault> {
        out.push_str("{\"key\":");
        self.scalar(key, out)?;
        out.push_str(",\"value\":");
        Ok(())
    }

    fn end_entry(&self, out: &mut String) {
        out.push('}');
    }

    fn close(&self, _: &Item, out: &mut String) {
        out.push_str("]}");
    }
}
