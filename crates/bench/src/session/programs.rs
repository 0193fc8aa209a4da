//! The programs that the variants of a session run: this one, other revisions, and peers.

use super::Plan;
use crate::experiment::Variant;
use crate::peers::{self, Ready};
use crate::progress::live;
use crate::revisions::{self, Measurer};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Programs of peers and revisions; each is built once in a session.
#[derive(Default)]
pub struct Programs {
    peers: HashMap<String, Result<Ready, String>>,
    /// The programs of revisions; without a revision, the program that runs.
    pub programs: HashMap<Option<String>, Measurer>,
}

impl Programs {
    /// Builds the peers of a comparison, and removes from `all` those that cannot be built. Returns
    /// a line for each of these.
    pub fn peers(
        &mut self,
        peers_toml: &Path,
        all: &mut Vec<Variant>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let mut left_out = vec![];
        let names: Vec<String> = all.iter().filter_map(|one| one.peer.clone()).collect();
        for name in names {
            if !self.peers.contains_key(&name) {
                progress(&format!("preparing peer {name}"));
                live().enter(format!("prepare peer {name}"), 0);
                let known = peers::load(peers_toml)?;
                let peer = known.iter().find(|peer| peer.name() == name);
                let peer =
                    peer.with_context(|| format!("{}: no peer {name}", peers_toml.display()))?;
                self.peers.insert(name.clone(), peer.prepare().map_err(|why| why.to_string()));
            }
            if let Some(Err(why)) = self.peers.get(&name) {
                progress(why);
                left_out.push(why.clone());
                all.retain(|one| one.peer.as_ref() != Some(&name));
            }
        }
        Ok(left_out)
    }

    /// Builds the program of each revision of a comparison.
    pub fn of_revisions(
        &mut self,
        plan: &Plan,
        all: &[Variant],
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        self.programs.entry(None).or_insert_with(|| Measurer::of_today(plan.program.clone()));
        for revision in all.iter().filter_map(|one| one.revision.as_ref()) {
            if let Entry::Vacant(place) = self.programs.entry(Some(revision.clone())) {
                progress(&format!("building revision {revision}"));
                live().enter(format!("build revision {revision}"), 0);
                let scratch = plan.scratch.folder();
                place.insert(revisions::build(&plan.repository, revision, scratch)?);
            }
        }
        Ok(())
    }

    /// The peers that were built, by name.
    pub fn ready(&self) -> HashMap<String, Ready> {
        let ready = |(name, peer): (&String, &Result<Ready, String>)| {
            Some((name.clone(), peer.as_ref().ok()?.clone()))
        };
        self.peers.iter().filter_map(ready).collect()
    }
}
