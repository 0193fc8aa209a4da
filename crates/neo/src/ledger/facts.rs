//! The facts that a commit stores with its parts. Bytes: `docs/formats/neo-logs.md`.

use super::ROOTS;
use crate::error::Error;
use crate::params::Configuration;
use crate::types::UInt256;
use blockmill_store::ChainStore;
use std::path::Path;

/// First bytes of the facts: the chain family.
const MARK: &[u8; 4] = b"NEO3";

/// The facts of a store of Neo blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The configuration that its blocks were verified against.
    pub configuration: Configuration,
    /// The facts of the state, if blocks are executed.
    pub state: Option<StateFacts>,
}

/// The facts of the state after the last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateFacts {
    /// The state root.
    pub root: UInt256,
    /// The active undo log: 0 or 1.
    pub active: usize,
    /// The first block in each undo log.
    pub first: [u32; 2],
}

impl Facts {
    /// Decodes the facts of the last commit; `None` if the store has no block.
    ///
    /// # Errors
    /// Returns [`Error::StoredFacts`] if they cannot be decoded.
    pub fn read(store: &ChainStore) -> Result<Option<Self>, Error> {
        if store.tip().is_none() {
            return Ok(None);
        }
        let bytes = store.state_of_parts();
        Self::decode(bytes).map(Some).ok_or_else(|| {
            let found = format!("{} other bytes", bytes.len());
            Error::StoredFacts(found)
        })
    }

    pub fn encode(&self) -> Vec<u8> {
        let text = self.configuration.to_text();
        let mut bytes = MARK.to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        if let Some(StateFacts { root, active, first }) = &self.state {
            bytes.extend_from_slice(&root.0);
            bytes.push(*active as u8);
            first.iter().for_each(|first| bytes.extend(first.to_le_bytes()));
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.strip_prefix(MARK)?.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let configuration = Configuration::from_text(std::str::from_utf8(text).ok()?)?;
        let state = if rest.is_empty() { None } else { Some(StateFacts::decode(rest)?) };
        Some(Self { configuration, state })
    }
}

impl StateFacts {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (root, rest) = bytes.split_first_chunk()?;
        let ([active @ (0 | 1)], rest) = rest.split_first_chunk()? else { return None };
        let (first, rest) = rest.split_first_chunk()?;
        let second = rest.try_into().ok()?;
        let first = [*first, second].map(u32::from_le_bytes);
        Some(Self { root: UInt256(*root), active: usize::from(*active), first })
    }
}

/// Reports whether a folder holds a store of Neo blocks. A corrupt store is recognised as long as
/// its manifest can be read; a store without blocks is recognised by its tables.
///
/// # Errors
/// Returns [`blockmill_store::Error::Io`] if the folder cannot be read.
pub fn is_neo_store(folder: &Path) -> Result<bool, blockmill_store::Error> {
    if !ChainStore::is_in(folder)? {
        return Ok(false);
    }
    match ChainStore::open_corrupt(folder) {
        Ok((store, _)) => {
            Ok(store.state_of_parts().starts_with(MARK) || store.parts_besides().contains(&ROOTS))
        }
        Err(error @ blockmill_store::Error::Io { .. }) => Err(error),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Protocol;

    #[test]
    fn facts_are_read_as_they_were_written_and_nothing_else_is() {
        let configuration = Protocol::by_name("testnet").unwrap().configuration();
        let state = StateFacts { root: UInt256([7; 32]), active: 1, first: [5, 70_000] };
        for state in [None, Some(state)] {
            let facts = Facts { configuration: configuration.clone(), state };
            let bytes = facts.encode();
            assert_eq!(Facts::decode(&bytes).as_ref(), Some(&facts));
            assert_eq!(Facts::decode(&[&bytes[..], &[0]].concat()), None);
            for length in 0..bytes.len() {
                let cut = Facts::decode(&bytes[..length]);
                // facts without a state are complete
                let stateless = state.is_some() && length == bytes.len() - 41;
                assert_eq!(cut.is_some(), stateless, "{length}");
            }
        }
    }
}
