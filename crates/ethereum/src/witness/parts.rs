//! What a witness holds besides its block.

use crate::body::BodyView;
use crate::header::HeaderView;
use crate::state::NodeSet;
use blockmill_archive::Column;
use std::sync::LazyLock;

/// Trie nodes and codes, hashed, and headers of ancestors.
#[derive(Debug, Default)]
pub struct Parts {
    pub(super) set: NodeSet,
    pub(super) headers: Vec<Vec<u8>>,
}

impl Parts {
    /// Hashes the nodes and codes in the lanes of the CPU.
    pub(super) fn new(nodes: Column, codes: Column, headers: Vec<Vec<u8>>) -> Self {
        Self { set: NodeSet::given(nodes, codes), headers }
    }

    /// Its nodes and codes.
    pub(super) fn columns(&self) -> (&Column, &Column) {
        static NONE: LazyLock<Column> = LazyLock::new(Column::new);
        self.set.columns().unwrap_or((&NONE, &NONE))
    }

    /// Whether it has the header of this block's parent.
    #[must_use]
    pub fn is_of(&self, block: &[u8]) -> bool {
        let parent = BodyView::decode_block(block).ok().and_then(|(header, _)| {
            HeaderView::decode(header).ok().map(|header| *header.parent_hash)
        });
        let mut headers = self.headers.iter();
        parent.is_some_and(|parent| {
            headers.any(|header| blockmill_rlp::ethereum::block_hash(header) == parent)
        })
    }
}
