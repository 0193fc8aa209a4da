//! Where a store keeps its state, or will keep it: `docs/formats/state-log.md`.

use super::parts::TABLE;
use crate::settings::Settings;
use crate::state::{FlatStore, StateKind};
use blockmill_pipeline::options::{NamedOption, OptionError};
use blockmill_store::ChainStore;

/// What the commits of a store without a state begin with, in the place of [`super::Facts`].
const MAGIC: &[u8; 8] = b"BMSTATE0";

/// Where a store keeps its state. Every later import into the store uses the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptState {
    /// In memory, in pages, or as flat values and trie nodes.
    pub kind: StateKind,
    /// What holds flat values and nodes; `None` for the other kinds.
    pub flat: Option<FlatStore>,
}

impl KeptState {
    /// Returns where a store keeps its state. A store without a state keeps the kind for its next
    /// import. `None` if the store does not say it.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] if a newer version of this program wrote a kind that this one does
    /// not know.
    pub fn of_store(store: &ChainStore) -> Result<Option<Self>, OptionError> {
        let parts = store.parts_besides();
        let has = |name: &str| parts.contains(&name);
        let on_disk = StateKind::from_parts(has);
        match on_disk.or(has(TABLE).then_some(StateKind::Memory)) {
            Some(kind) => Ok(Some(Self { kind, flat: FlatStore::from_parts(has) })),
            None => Self::decode(store.state_of_parts()),
        }
    }

    /// Sets the options that keep a state there.
    pub fn apply(self, settings: &mut Settings) {
        settings.state = self.kind;
        settings.flat_store = self.flat.unwrap_or(settings.flat_store);
    }

    /// Encodes it for the commits of a store without a state. Empty for a state in memory, which is
    /// the default.
    pub(super) fn encode(self) -> Vec<u8> {
        if self.kind == StateKind::Memory {
            return vec![];
        }
        let mut out = [MAGIC, self.kind.to_string().as_bytes()].concat();
        if let Some(flat) = self.flat.filter(|_| self.kind == StateKind::FlatTrie) {
            out.extend(format!(" {flat}").as_bytes());
        }
        out
    }

    /// Whether the commits of a store carry a kept state.
    pub(super) fn is_encoded(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Decodes what the commits of a store carry; `None` if that is something else.
    fn decode(bytes: &[u8]) -> Result<Option<Self>, OptionError> {
        let text = bytes.strip_prefix(MAGIC).and_then(|text| str::from_utf8(text).ok());
        let Some(text) = text else { return Ok(None) };
        let mut words = text.split(' ');
        let kind = StateKind::parse(words.next().unwrap_or_default())?;
        Ok(Some(Self { kind, flat: words.next().map(FlatStore::parse).transpose()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_state_is_read_as_it_was_written() {
        let pages = KeptState { kind: StateKind::Pages, flat: None };
        let flat = |flat| KeptState { kind: StateKind::FlatTrie, flat: Some(flat) };
        assert!(KeptState { kind: StateKind::Memory, flat: None }.encode().is_empty());
        assert_eq!(pages.encode(), b"BMSTATE0state=pages");
        for kept in [pages, flat(FlatStore::Tables), flat(FlatStore::RocksDb)] {
            assert_eq!(KeptState::decode(&kept.encode()), Ok(Some(kept)));
        }
        let rocksdb = flat(FlatStore::RocksDb).encode();
        assert_eq!(rocksdb, b"BMSTATE0state=flat+trie flat-store=rocksdb");
        let unknown = KeptState::decode(b"BMSTATE0state=of-tomorrow");
        assert!(matches!(unknown, Err(OptionError::Unknown { .. })), "{unknown:?}");
        let facts = crate::commit::executed_store::Facts::at_genesis(StateKind::Pages, [7; 32]);
        assert_eq!(KeptState::decode(&facts.encode()), Ok(None));
    }
}
