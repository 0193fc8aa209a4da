//! Keys of maps.

use crate::execute::vm::Item;

/// The key of a map. Two keys are equal if their types and values are.
#[derive(Clone, Debug)]
pub struct Key(pub Item);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Item::Bool(a), Item::Bool(b)) => a == b,
            (Item::Int(a), Item::Int(b)) => a == b,
            (Item::Big(a), Item::Big(b)) => a == b,
            (a, b) => a.as_bytes().is_some() && a.as_bytes() == b.as_bytes(),
        }
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match &self.0 {
            Item::Bool(value) => (0u8, value).hash(state),
            Item::Int(small) => (1u8, small).hash(state),
            Item::Big(big) => (2u8, big).hash(state),
            other => (3u8, other.as_bytes()).hash(state),
        }
    }
}
