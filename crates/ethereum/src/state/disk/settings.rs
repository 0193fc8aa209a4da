//! Options of a state on disk.

use blockmill_state_store::ReadMethod;

blockmill_pipeline::named_option! {
    /// Where the state is kept.
    ///
    /// A store keeps its state where it began. `--cache` bounds the memory of a state on disk: a
    /// quarter for what the execution keeps, a quarter for changes, the rest for caches. With
    /// `log=off`, and with `verify`, a state on disk is in a folder that is removed after the run.
    ///
    /// There is no option for a state in tries or flat: the tries are some blocks after the
    /// execution, so they cannot answer what it reads. `blockmill witness` executes from the nodes
    /// of tries alone. There is no cache of slots that are 0 either: with a state in memory an
    /// absent slot costs the same single lookup as a present one, and on disk such slots are kept
    /// like all others.
    pub enum StateKind: "state", level Execution {
        /// On disk by hashed key, in tables of values and of trie nodes by path, as Besu keeps it
        /// ([format](../formats/flat-trie.md)).
        FlatTrie = "flat+trie",
        /// On disk by hashed key, in pages ([format](../formats/pages.md)).
        Pages = "pages",
        /// In memory, with a checkpoint and a log on disk.
        Memory = "memory",
    }
}

blockmill_pipeline::named_option! {
    /// With `state=flat+trie`: when the trie nodes that lead to a value are read.
    pub enum TriePreload: "trie-preload", level Execution {
        /// When the value is prefetched (`prefetch`), so that the root finds them in memory; within
        /// an eighth of the memory.
        On = "on",
        /// When the root needs them.
        Off = "off",
    }
}

blockmill_pipeline::named_option! {
    /// With `state=pages`: how reads that are known together are done.
    pub enum PageReads: "read-ahead", level Execution {
        /// One after the other.
        Off = "off",
        /// By threads.
        Threads = "threads",
        /// Through io_uring, with 128 in flight.
        IoUring = "io_uring",
    }
}

impl From<PageReads> for ReadMethod {
    fn from(reads: PageReads) -> Self {
        match reads {
            PageReads::Off => Self::Off,
            PageReads::Threads => Self::Threads,
            PageReads::IoUring => Self::Ring,
        }
    }
}

blockmill_pipeline::named_option! {
    /// With `state=pages`: whether pages that were read are kept in memory.
    pub enum PageCache: "page-cache", level Execution {
        /// Pages are read again each time.
        Off = "off",
        /// Pages are kept.
        On = "on",
    }
}

blockmill_pipeline::named_option! {
    /// With `state=pages`: where the references that lead to pages are kept: references and upper
    /// levels of the tries, 3 to 8 bytes for each slot.
    ///
    /// A contract with more than 16 slots takes some 150 bytes in any case.
    pub enum References: "references", level Execution {
        /// Within a quarter of `--cache`, the rest of them in pages as well.
        Cache = "cache",
        /// All in memory, in addition to `--cache`.
        Memory = "memory",
    }
}

blockmill_pipeline::named_option! {
    /// With `state=pages`: how many threads hash the changes of a large block.
    pub enum CommitThreads: "commit", level Execution {
        /// One.
        Serial = "serial",
        /// All threads of the run.
        Parallel = "parallel",
    }
}
