//! Options of the virtual machine.

blockmill_pipeline::named_option! {
    /// The hash function of the instruction KECCAK256.
    ///
    /// There is no value for the assembly of OpenSSL's authors (`keccak-asm`), because a build
    /// would need Perl. The peer `revm-memory` hashes with it; in a run of computation on AVX-512,
    /// `lanes` takes a sixth less time in all.
    pub enum MachineKeccak: "evm-keccak", level Execution {
        /// That of the virtual machine's library.
        Library = "revm",
        /// That of this project, one message at a time.
        Single = "ours",
        /// That of this project; with `speculate`, up to eight speculative transactions wait for
        /// each other and hash together in vector lanes.
        Lanes = "lanes",
    }
}

/// Options of the machine. The defaults are the fast values, so that the public test suites run
/// what imports use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineOptions {
    /// The hash function of KECCAK256.
    pub keccak: MachineKeccak,
    /// Whether the slots that a speculation read from disk are cached even if it aborts. Then
    /// transactions are executed speculatively beyond the budget, too.
    pub keeps_reads: bool,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self { keccak: MachineKeccak::Lanes, keeps_reads: false }
    }
}
