//! Copies: of structs, which are values, and of all that an item holds.

use indexmap::IndexMap;

use super::{Entries, Fault, Heap, Item, Ref};

/// The most items in a copied struct, with itself.
const MAX_ELEMENTS: usize = 2_048;

/// The item itself, or a copy of it with all structs in it where it is a struct.
///
/// # Errors
///
/// Returns a fault if the struct has too many items.
pub fn value_of(heap: &mut Heap, item: &Item) -> Result<Item, Fault> {
    let Item::Struct(place) = item else { return Ok(item.clone()) };
    let mut left = MAX_ELEMENTS - 1;
    let copy = shallow(heap, *place, &mut left)?;
    let root = Item::Struct(copy);
    let mut work = vec![copy];
    while let Some(copy) = work.pop() {
        for index in 0..heap.len(copy) {
            let Item::Struct(inner) = heap.list(copy)[index] else { continue };
            let inner = shallow(heap, inner, &mut left)?;
            heap.list_mut(copy)?[index] = Item::Struct(inner);
            work.push(inner);
        }
    }
    Ok(root)
}

fn shallow(heap: &mut Heap, place: Ref, left: &mut usize) -> Result<Ref, Fault> {
    let items = heap.list(place).to_vec();
    *left = left.checked_sub(items.len()).ok_or(Fault::Rule("too big"))?;
    heap.new_struct(items).place().ok_or(Fault::NotList)
}

/// A copy of all that an item holds; nothing can change the arrays, structs and maps in it.
/// `pinned`: pin the copy for the host. `immutable`: convert buffers to byte strings.
///
/// # Errors
///
/// Never fails: the copy has the keys of the original.
pub fn deep(heap: &mut Heap, item: &Item, immutable: bool, pinned: bool) -> Result<Item, Fault> {
    let mut seen: IndexMap<Ref, Item> = IndexMap::new();
    let root = twin(heap, item, immutable, &mut seen);
    let mut done = 0;
    while let Some((place, copy)) = seen.get_index(done).map(|(place, copy)| (*place, copy.clone()))
    {
        done += 1;
        let Some(copy_place) = copy.place() else { continue };
        if matches!(copy, Item::Map(_)) {
            let entries = heap.map(place)?.clone();
            let mut copies = Entries::with_capacity(entries.len());
            for (key, value) in entries {
                copies.insert(key, twin(heap, &value, immutable, &mut seen));
            }
            *heap.map_mut(copy_place)? = copies;
        } else {
            let items = heap.list(place).to_vec();
            let copies = items.iter().map(|item| twin(heap, item, immutable, &mut seen)).collect();
            *heap.list_mut(copy_place)? = copies;
        }
        heap.set_read_only(copy_place);
        if pinned {
            heap.pin(copy_place);
        }
    }
    Ok(root)
}

/// The copy of one item; that of an array, a struct or a map is still empty.
fn twin(heap: &mut Heap, item: &Item, immutable: bool, seen: &mut IndexMap<Ref, Item>) -> Item {
    let place = match item {
        Item::Buffer(bytes) if immutable => return Item::bytes(&bytes.borrow()),
        Item::Buffer(bytes) => return Item::buffer(bytes.borrow().clone()),
        other => match other.place() {
            None => return other.clone(),
            Some(place) => place,
        },
    };
    if let Some(copy) = seen.get(&place) {
        return copy.clone();
    }
    let copy = match item {
        Item::Array(_) => heap.new_array(Vec::new()),
        Item::Struct(_) => heap.new_struct(Vec::new()),
        _ => heap.new_map(Entries::new()),
    };
    seen.insert(place, copy.clone());
    copy
}
