//! Where a store without a state will have it: `docs/formats/state-log.md`.

use crate::state::{FlatStore, StateKind};

/// What the commits of such a store begin with, in the place of [`super::Facts`].
const MAGIC: &[u8; 8] = b"BMSTATE0";

/// The options of an import that make a state of this kind, as commits keep them. Empty for the
/// default, a state in memory.
pub(super) fn encode(kind: StateKind, flat: FlatStore) -> Vec<u8> {
    if kind == StateKind::Memory {
        return vec![];
    }
    let mut out = [MAGIC, kind.to_string().as_bytes()].concat();
    if kind == StateKind::FlatTrie {
        out.extend(format!(" {flat}").as_bytes());
    }
    out
}

/// The options that commits keep; none where they say something else of the state.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<String>> {
    let options = bytes.strip_prefix(MAGIC)?;
    let options = str::from_utf8(options).ok()?;
    Some(options.split(' ').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_written() {
        let (tables, rocksdb) = (FlatStore::Tables, FlatStore::RocksDb);
        assert!(encode(StateKind::Memory, tables).is_empty());
        let read = |kind, flat| decode(&encode(kind, flat)).unwrap().join(" ");
        assert_eq!(read(StateKind::Pages, tables), "state=pages");
        assert_eq!(read(StateKind::FlatTrie, rocksdb), "state=flat+trie flat-store=rocksdb");
        let facts = crate::commit::executed_store::Facts::of_genesis(StateKind::Pages, [7; 32]);
        assert_eq!(decode(&facts.encode()), None);
    }
}
