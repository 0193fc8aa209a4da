//! Corrupt archives: each is refused with exit code 1 and an error that names file, place or
//! block, rule, what was expected and what was found. What was verified before the corruption is
//! committed and stays readable, and the good archive continues there.

#[path = "../program/mod.rs"]
mod program;

mod blocks;
mod bodies;
mod bytes;
mod files;
mod rules;
mod seals;
mod stores;
mod verdicts;

use blocks::Blocks;
use program::{Scratch, Snapshot, blockmill, refuse, run, succeed, tip_of, unexecuted};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An import without seals and without execution, as generated chains need it.
fn import(store: &Path, chain: &Path, archive: &Path) -> Command {
    let mut command = blockmill("import --threads 2 --data");
    command.arg(store).arg("--chain").arg(chain).arg(archive).args(unexecuted(archive));
    command
}

/// A good archive and the store that it gives.
struct Good {
    scratch: Scratch,
    chain: PathBuf,
    blocks: Blocks,
    archive: PathBuf,
    store: PathBuf,
    snapshot: Snapshot,
    format: &'static str,
    copies: u32,
}

impl Good {
    /// `blocks` of the main network, as an archive of `format`, imported.
    fn new(test: &str, format: &'static str, blocks: Blocks) -> Self {
        Self::of_chain(test, format, blocks, |_| PathBuf::from("mainnet"))
    }

    /// The same for another chain, whose name or genesis file `chain` gives.
    fn of_chain(
        test: &str,
        format: &'static str,
        blocks: Blocks,
        chain: impl FnOnce(&Scratch) -> PathBuf,
    ) -> Self {
        let scratch = Scratch::new(&format!("{test}-{format}"));
        let (archive, store) = (scratch.path("good"), scratch.path("store"));
        let chain = chain(&scratch);
        blocks.write(format, &archive);
        succeed(&mut import(&store, &chain, &archive));
        let snapshot = Snapshot::of(&store);
        Self { snapshot, scratch, chain, blocks, archive, store, format, copies: 0 }
    }

    /// A path for the next corrupt copy, or the store imported from it.
    fn next_copy(&mut self) -> PathBuf {
        self.copies += 1;
        self.scratch.path(&format!("damaged-{}", self.copies))
    }

    /// Imports `corrupt`, which must be refused at block `at` by `rule`; then checks what is
    /// stored, and goes on with the good archive.
    fn refuses(&mut self, corrupt: &Path, at: u64, rule: &str) -> String {
        let (text, store) = self.stops_at(corrupt, at, rule);
        self.snapshot.assert_begins_like(&store);
        succeed(&mut import(&store, &self.chain, &self.archive));
        self.snapshot.assert_same(&store);
        text
    }

    /// Imports `corrupt`, which must be refused at block `at` by `rule`, all before it being
    /// committed; but where a link is broken, the block before may be the corrupt one. The error,
    /// and the store.
    fn stops_at(&mut self, corrupt: &Path, at: u64, rule: &str) -> (String, PathBuf) {
        let store = self.next_copy();
        let (block, path) = (format!("block {at}"), corrupt.display().to_string());
        let mut command = import(&store, &self.chain, corrupt);
        let text = refuse(&mut command, &[&path, &block, rule]);
        let doubtful = if rule == "parent hash" { 2 } else { 1 };
        assert_eq!(tip_of(&store), at.checked_sub(doubtful), "{text}");
        (text, store)
    }

    /// Writes `blocks` and imports them; they must be refused at block `at` by `rule`.
    fn refuses_blocks(&mut self, blocks: &Blocks, at: u64, rule: &str) -> String {
        let corrupt = self.next_copy();
        blocks.write(self.format, &corrupt);
        self.refuses(&corrupt, at, rule)
    }
}
