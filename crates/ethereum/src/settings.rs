//! The options of the import and their values.

pub use crate::body::senders::{SenderBatches, SignatureLanes};
pub use crate::commit::executed_store::LogValues;
pub use crate::execute::evm::MachineKeccak;
pub use crate::execute::speculation::Speculate;
pub use crate::execute::stages::{
    AccessLists, Prefetch, ReceiptOrder, RootGroup, RootInterval, RootOrder, SenderOrder,
};
pub use crate::state::{
    BlockCache, Bloom, CommitThreads, FlatStore, NodeHashes, PageCache, PageReads, ReadChecksum,
    References, StateKind, TrieLayout, TriePreload,
};
pub use crate::verify::Hashes;
pub use blockmill_pipeline::StageOrder;

use crate::execute::evm::MachineOptions;
use crate::state::{DiskOptions, RocksDbOptions, TrieHashers};

blockmill_pipeline::option_settings! {
    /// Settings of the options of the Ethereum import.
    pub struct Settings {
        hash: Hashes,
        sender_batches: SenderBatches,
        signatures: SignatureLanes,
        senders: SenderOrder,
        state: StateKind,
        prefetch: Prefetch,
        trie_preload: TriePreload,
        flat_store: FlatStore,
        read_checksum: ReadChecksum,
        bloom: Bloom,
        block_cache: BlockCache,
        read_ahead: PageReads,
        page_cache: PageCache,
        references: References,
        commit: CommitThreads,
        state_trie: TrieLayout,
        trie_hash: NodeHashes,
        root: RootOrder,
        root_every: RootInterval,
        root_group: RootGroup,
        receipts: ReceiptOrder,
        evm_keccak: MachineKeccak,
        speculate: Speculate,
        access_lists: AccessLists,
        log: LogValues,
        stages: StageOrder,
    }
}

impl Settings {
    /// Options of a state on disk that uses `memory_bytes`, for a run of `threads` threads.
    #[must_use]
    pub fn disk(&self, memory_bytes: usize, threads: usize) -> DiskOptions {
        DiskOptions {
            memory_bytes,
            read_ahead: self.read_ahead.into(),
            page_cache: self.page_cache == PageCache::On,
            all_references: self.references == References::Memory,
            trie_preload: self.trie_preload == TriePreload::On,
            flat_store: self.flat_store,
            rocksdb: RocksDbOptions {
                read_checksum: self.read_checksum == ReadChecksum::On,
                bloom: self.bloom == Bloom::On,
                block_cache: self.block_cache == BlockCache::On,
            },
            threads: match self.commit {
                CommitThreads::Serial => 1,
                CommitThreads::Parallel => threads,
            },
            salvages: false,
        }
    }

    /// Options of the virtual machine.
    #[must_use]
    pub fn machine(&self) -> MachineOptions {
        MachineOptions { keccak: self.evm_keccak, keeps_reads: self.prefetch == Prefetch::Runs }
    }

    /// Hash functions of tries in arenas.
    #[must_use]
    pub fn trie_hashers(&self) -> TrieHashers {
        TrieHashers::new(self.trie_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::options::{NamedOption, OptionSet};
    use blockmill_signatures::Signatures;

    #[test]
    fn the_default_uses_all_that_the_machine_has() {
        let (plainest, default) = (Settings::plainest(), Settings::default());
        assert_eq!(
            (plainest.sender_batches, plainest.stages, plainest.hash),
            (SenderBatches::Block, StageOrder::Serial, Hashes::Single)
        );
        assert_eq!(
            (default.sender_batches, default.stages, default.hash),
            (SenderBatches::Chunk, StageOrder::Overlapped, Hashes::Multi)
        );
        assert_eq!((default.root_every.blocks(), plainest.root_every.blocks()), (1, 64));
        assert_eq!(default.state, StateKind::Memory);
        assert_eq!(default.signatures.verifier().width(), Signatures::detect().width());
        for lanes in SignatureLanes::available() {
            assert_eq!(lanes.verifier().width().name(), lanes.name());
        }
    }
}
