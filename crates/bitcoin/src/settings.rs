//! The options of the Bitcoin import and their values.

pub use crate::coins::SpentCoins;
pub use crate::script::{Scripts, SignatureLanes};
pub use blockmill_pipeline::StageOrder;

blockmill_pipeline::option_settings! {
    /// Values of the options of the Bitcoin import.
    pub struct Settings {
        coins: SpentCoins,
        scripts: Scripts,
        signatures: SignatureLanes,
        stages: StageOrder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::options::{NamedOption, OptionSet};
    use blockmill_signatures::Signatures;

    #[test]
    fn the_default_uses_all_features_of_the_machine() {
        let default = Settings::default();
        assert_eq!((default.coins, default.scripts), (SpentCoins::Fetched, Scripts::Templates));
        assert_eq!(default.stages, StageOrder::Overlapped);
        assert_eq!(default.signatures.verifier().width(), Signatures::detect().width());
        for lanes in SignatureLanes::available() {
            assert_eq!(lanes.verifier().width().name(), lanes.name());
        }
        let plainest = Settings::plainest();
        assert_eq!((plainest.coins, plainest.scripts), (SpentCoins::WhenSpent, Scripts::Library));
        assert_eq!(plainest.stages, StageOrder::Serial);
    }
}
