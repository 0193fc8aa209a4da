//! Corrupt parts of a store of blocks, whatever the chain.

use super::{Checked, CorruptPart};
use blockmill_store::{ChainStore, Corruption, Error, Tip};
use blockmill_verdict::{Finding, Level, grouped};

/// What repairs a part that follows from others.
const ITSELF: &str = "the next import, or `blockmill check DATA --repair`, rebuilds it";

impl CorruptPart {
    /// A part that cannot be read.
    pub fn from_error(error: &Error, repair: &str) -> Self {
        let (what, repair) = (error.to_string(), repair.into());
        let mut part = Self { what, repair, ..Self::default() };
        if let Error::Corrupt { path, offset, what, expected, found } = error {
            (part.file, part.offset) = (Some(path.clone()), Some(*offset));
            part.what = format!("{what}: expected {expected}, found {found}");
        }
        part
    }
}

impl Checked {
    /// Opens the store of blocks, with what is corrupt so far. `None` if nothing of it can be read;
    /// `anew` says what repairs it then.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Locked`]; corruption is no error.
    pub fn open(&mut self, anew: &str) -> Result<Option<(ChainStore, Vec<Corruption>)>, Error> {
        match ChainStore::open_corrupt(&self.data) {
            Ok(opened) => Ok(Some(opened)),
            Err(error @ (Error::Corrupt { .. } | Error::NoStore { .. })) => {
                self.corruption.push(CorruptPart::from_error(&error, anew));
                self.set_repair();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Says what a store of blocks consists of. `family` is the name of the chain family, `numbers`
    /// the name of block numbers in it; `chain` gives the name of a known chain.
    pub fn describe(
        &mut self,
        store: &ChainStore,
        (family, numbers): (&str, &str),
        chain: impl FnOnce(&Tip) -> Option<String>,
    ) {
        let Some(tip) = store.tip() else {
            let of = self.family.map_or_else(String::new, |_| format!("{family}, "));
            self.holds.push(format!("{of}no block yet"));
            return;
        };
        let name = chain(&tip).unwrap_or_else(|| "a chain of its own".into());
        let first = store.first().unwrap_or(0);
        let level = Level::stored(tip.level).map_or("unknown", Level::name);
        self.holds.push(format!("{family}, {name}, level {level}"));
        self.holds.push(format!("{numbers} {} to {}", grouped(first), grouped(tip.number)));
        if let Some(whole) = store.first_whole().filter(|whole| *whole > first) {
            self.holds.push(format!("of blocks before {} headers only", grouped(whole)));
        }
        let parts = store.parts_besides();
        if !parts.is_empty() {
            self.holds.push(format!("besides the blocks: {}", parts.join(", ")));
        }
        (self.chain, self.first, self.tip) = (Some(name), Some(first), Some(tip.number));
    }

    /// Adds corrupt bytes, and blocks that are not what their hashes say. `repair` is the advice
    /// for parts that the next import does not rebuild.
    pub fn add_corruption(
        &mut self,
        corruption: &[Corruption],
        findings: &[Finding],
        repair: &str,
    ) {
        let others = repair;
        for corruption in corruption {
            let repair = if corruption.mends_itself { ITSELF } else { others };
            let mut part = CorruptPart::from_error(&corruption.error, repair);
            if corruption.bytes > 4096 {
                part.what = format!("{} bytes are corrupt: {}", corruption.bytes, part.what);
            }
            part.first_block = corruption.blocks.as_ref().map(|blocks| *blocks.start());
            part.last_block = corruption.blocks.as_ref().map(|blocks| *blocks.end());
            part.mends_itself = corruption.mends_itself;
            self.corruption.push(part);
        }
        for Finding { block, what, expected, found } in findings {
            self.corruption.push(CorruptPart {
                what: format!("{what}: expected {expected}, found {found}"),
                first_block: Some(*block),
                last_block: Some(*block),
                repair: others.into(),
                ..CorruptPart::default()
            });
        }
    }
}
