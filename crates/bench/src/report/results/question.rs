//! The questions that pages of results answer.

use crate::findings::Comparison;
use blockmill_pipeline::machine::Machine;

/// A page of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Headers,
    Execution,
    RealBlocks,
    Bitcoin,
    Neo,
    Codecs,
    Stores,
    Tables,
    Scaling,
    Growth,
}

impl Question {
    /// All questions, in the order of the index.
    pub const ALL: [Self; 10] = [
        Self::Headers,
        Self::Execution,
        Self::RealBlocks,
        Self::Bitcoin,
        Self::Neo,
        Self::Codecs,
        Self::Stores,
        Self::Tables,
        Self::Scaling,
        Self::Growth,
    ];

    /// The question that a comparison answers; `None` if no page shows its definition.
    pub fn of(comparison: &Comparison, machine: &Machine) -> Option<Self> {
        let setting = comparison.experiment.strip_prefix("sweep ");
        let is_large = machine.cores > 2;
        if setting == Some("threads") || is_large && comparison.experiment == "peers" {
            return Some(Self::Scaling);
        }
        let by_name = Self::of_definition(&comparison.definition)?;
        Some(if setting.is_some() && by_name != Self::Stores { Self::Growth } else { by_name })
    }

    fn of_definition(name: &str) -> Option<Self> {
        let family = name.split('-').next().unwrap_or(name);
        Some(match (name, family) {
            ("execution-mainnet" | "real-blocks", _) => Self::RealBlocks,
            (_, "headers") => Self::Headers,
            (_, "execution" | "amsterdam" | "bodies" | "evm" | "public" | "benchmark") => {
                Self::Execution
            }
            (_, "reindex") => Self::Bitcoin,
            (_, "restore") => Self::Neo,
            (_, "rlp" | "signatures") => Self::Codecs,
            (_, "store" | "snapshot" | "remote") => Self::Stores,
            (_, "export") => Self::Tables,
            _ => return None,
        })
    }

    /// The name of the page's file, without extension.
    pub fn file(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Execution => "execution",
            Self::RealBlocks => "real-blocks",
            Self::Bitcoin => "bitcoin",
            Self::Neo => "neo",
            Self::Codecs => "rlp-and-signatures",
            Self::Stores => "stores",
            Self::Tables => "tables",
            Self::Scaling => "scaling",
            Self::Growth => "growth",
        }
    }

    /// The title of the page.
    pub fn title(self) -> &'static str {
        match self {
            Self::Headers => "Headers",
            Self::Execution => "Execution",
            Self::RealBlocks => "Real blocks",
            Self::Bitcoin => "Bitcoin",
            Self::Neo => "Neo",
            Self::Codecs => "RLP and signatures",
            Self::Stores => "Stores",
            Self::Tables => "Tables",
            Self::Scaling => "Scaling with cores",
            Self::Growth => "Growth with size",
        }
    }

    /// The question, as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Headers => "How fast are Ethereum headers verified and stored?",
            Self::Execution => {
                "How fast are generated Ethereum blocks executed, and their senders recovered?"
            }
            Self::RealBlocks => "How fast are blocks of the Ethereum main network executed?",
            Self::Bitcoin => "How fast are Bitcoin block files indexed and connected?",
            Self::Neo => "How fast is a Neo dump restored?",
            Self::Codecs => "What does one encoding, one hash or one signature cost?",
            Self::Stores => "What does a read or a change of a stored state cost?",
            Self::Tables => "What does an export of verified blocks to tables cost?",
            Self::Scaling => "How much faster are runs with more threads?",
            Self::Growth => "How do time and memory grow with the size of the data?",
        }
    }
}
