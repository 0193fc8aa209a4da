//! The options of an import and their values.

pub use crate::import::execution::Flush;
pub use crate::import::tasks::{Roots, Tasks};
pub use crate::ledger::{ChangeLog, KeptBlocks};
pub use crate::types::Hashes;
pub use crate::witness::{PublicKeys, SignatureLanes};
pub use blockmill_pipeline::StageOrder;

blockmill_pipeline::option_settings! {
    /// Settings of the options of the Neo import.
    pub struct Settings {
        hashes: Hashes,
        signatures: SignatureLanes,
        keys: PublicKeys,
        stages: StageOrder,
        tasks: Tasks,
        roots: Roots,
        flush: Flush,
        log: ChangeLog,
        blocks: KeptBlocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_hashes::ManySha256;
    use blockmill_pipeline::options::OptionSet;
    use blockmill_signatures::Signatures;

    #[test]
    fn the_default_uses_all_that_the_machine_has() {
        let default = Settings::default();
        assert_eq!(default.stages, StageOrder::Overlapped);
        assert_eq!(default.hashes.hasher().name(), ManySha256::detect().name());
        let found = default.signatures.verifier().width();
        assert_eq!(found, Signatures::detect().width());
        assert_eq!(found.name(), default.signatures.name());
        let plainest = Settings::plainest();
        assert_eq!((plainest.stages, plainest.keys), (StageOrder::Serial, PublicKeys::Anew));
        let found = plainest.signatures.verifier().width().name();
        assert_eq!((plainest.hashes.hasher().name(), found), ("scalar", "scalar"));
    }
}
