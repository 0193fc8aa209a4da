//! The end of opening a store: removes what interrupted commits and merges left.

use super::{BETWEEN, Opening, describe};
use crate::{
    error::{Result, mismatch},
    manifest::{self, Manifest, PartFacts, PartKind},
    store::Store,
    table::{Table, number_of},
};

impl Opening {
    /// Finishes after all parts are open: removes what interrupted commits and merges left. Returns
    /// the store and the state of the last commit, which is empty if there was none.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] if the store has parts that were not opened.
    pub fn finish(self) -> Result<(Store, Vec<u8>)> {
        let is_open = |part: &&PartFacts| {
            self.parts.iter().any(|(kind, name)| part.kind == *kind && part.name == *name)
        };
        let mut parts = self.manifest.iter().flat_map(|manifest| &manifest.parts);
        if let Some(part) = parts.find(|part| !is_open(part)) {
            let found = format!("{:?} {}", part.kind, part.name);
            return Err(mismatch("parts of a store", describe(&self.parts), found));
        }
        let state = self.state().to_vec();
        Ok((self.finish_some()?, state))
    }

    /// Finishes without some parts, which stay unchanged.
    pub(crate) fn finish_some(self) -> Result<Store> {
        let Opening { folder, lock, manifest, fell_back, newest, parts, formats, .. } = self;
        let (names, crash) = (self.names, self.crash);
        // durable commits will name these unchanged, including those that only light commits named
        // so far
        if !fell_back {
            for mut segment in self.segments {
                segment.prepare()?;
            }
        }
        let manifest = match manifest {
            Some(manifest) => {
                if names.iter().any(|name| name == manifest::TEMPORARY) {
                    folder.remove(&folder.dir.join(manifest::TEMPORARY))?;
                }
                manifest
            }
            None => {
                let (salt, next, state) = (folder.salt, folder.next_number(), vec![]);
                let manifest = Manifest { sequence: 0, base: 0, salt, next, parts: vec![], state };
                manifest.write(&folder)?;
                manifest
            }
        };
        let limit = manifest.next.saturating_add(BETWEEN * parts.len() as u64);
        for (kind, part) in &parts {
            let facts = manifest.part(*kind, part);
            let format = formats.iter().find(|(name, _)| name == part).map(|(_, format)| *format);
            let (limit, numbers) = match (kind, format) {
                (PartKind::Table, _) => (limit, facts.map(Table::numbers)),
                (PartKind::Foreign, Some(format)) => {
                    let limit = limit.saturating_add(format.files_between());
                    (limit, facts.map(|facts| format.numbers(facts)))
                }
                _ => continue,
            };
            let numbers = numbers.unwrap_or_default();
            for name in &names {
                let number = format
                    .map_or_else(|| number_of(name, part), |it| it.number_of_file(name, part));
                if number.is_some_and(|number| number < limit && !numbers.contains(&number)) {
                    folder.remove(&folder.dir.join(name))?;
                }
            }
        }
        folder.plan(crash);
        let last = Manifest { sequence: newest, ..manifest };
        Ok(Store::new(folder, lock, parts, last, fell_back))
    }
}
