//! Why the description of a chain is refused.

use std::borrow::Cow;

/// Why a genesis.json or a chain configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The text is not the JSON that it should be; `problem` names line and column.
    #[error("{field}: {problem}")]
    Json {
        /// The part of the file that was read.
        field: String,
        /// What the JSON reader says.
        problem: String,
    },
    /// A field that must be there is not.
    #[error("the field {field} is missing")]
    Missing {
        /// The field's name.
        field: &'static str,
    },
    /// A field does not hold what it should.
    #[error("{field}: expected {expected}, found {found}")]
    Field {
        /// The field's name.
        field: String,
        /// What it should hold.
        expected: &'static str,
        /// The beginning of what it holds.
        found: String,
    },
    /// Two forks are set in the wrong order.
    #[error("{earlier} ({earlier_at}) must not come after {later} ({later_at})")]
    ForkOrder {
        /// The fork that must come first.
        earlier: &'static str,
        /// Its block or time.
        earlier_at: u64,
        /// The fork that must come after it.
        later: &'static str,
        /// Its block or time.
        later_at: u64,
    },
    /// A fork is set without the one that it builds on.
    #[error("{set} is set, {missing} is not")]
    ForkLeftOut {
        /// The setting that is missing.
        missing: &'static str,
        /// The setting that needs it.
        set: &'static str,
    },
    /// The blob numbers of a fork make no sense.
    #[error("blob numbers of {fork}: {problem}")]
    Blobs {
        /// The fork's setting.
        fork: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// The chain needs something that this program does not have.
    #[error("not supported: {feature}")]
    Unsupported {
        /// The setting and its meaning.
        feature: Cow<'static, str>,
    },
    /// A setting that this program does not know, and that may be a rule of the chain.
    #[error("not supported: {setting} in {place}: an unknown setting, which may be a rule")]
    UnknownSetting {
        /// Its name.
        setting: String,
        /// The object of the file.
        place: &'static str,
    },
}
