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
        /// That of this project; with `speculate`, up to eight transactions that are executed
        /// before their turn wait for each other and hash together in vector lanes.
        Lanes = "lanes",
    }
}

/// What a machine may do in the plain way or in a fast one; all fast by default, so that the public
/// suites judge what imports use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineOptions {
    /// What KECCAK256 hashes with.
    pub keccak: MachineKeccak,
    /// Whatever becomes of transactions that were executed before their turn: the slots of a state
    /// on disk that they read are not read again. So they are executed also where nothing of them
    /// can be taken over.
    pub keeps_reads: bool,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self { keccak: MachineKeccak::Lanes, keeps_reads: false }
    }
}
