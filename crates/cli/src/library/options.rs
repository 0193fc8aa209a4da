//! The options of a verification as a value.

use crate::args::{
    CACHE_MIB, CACHES_MIB, CHUNK, CHUNKS, COMMIT_EVERY_S, COMMITS_S, Force, Remote, THREADS,
    Verification,
};
use crate::{bitcoin, remote};
use anyhow::{Result, ensure};
use blockmill_pipeline::Cancel;
use blockmill_verdict::Level;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// How to verify an archive. Each field is a flag of `blockmill verify`, with the same default and
/// the same limits.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// How deep to verify. The default is [`Level::Execution`], or the deepest level that the
    /// archive supports.
    pub level: Option<Level>,
    /// The network, or the path of its `genesis.json` or `protocol.yml`. The default is detected.
    pub chain: Option<String>,
    /// Ethereum: proof-of-work seals to check: `off`, `all` or `1/N`. The default is `all`.
    pub seal: Option<String>,
    /// Seed of the sample of seals. The default is random.
    pub seal_seed: Option<u64>,
    /// The time in seconds since 1970, instead of the clock. Blocks from the future are invalid.
    pub now: Option<u64>,
    /// Folder that keeps ethash caches for later runs.
    pub ethash_cache: Option<PathBuf>,
    /// Number of the first block.
    pub from: Option<u64>,
    /// Number of the last block.
    pub until: Option<u64>,
    /// Blocks may be missing: succeed if all blocks that are found are valid.
    pub partial: bool,
    /// Ethereum: block hashes that the chain must contain.
    pub trust: Vec<String>,
    /// Ethereum: an era file, a folder of them, or a text with a root in each line. Proofs in ere
    /// files from after the merge are compared with these roots of the beacon chain.
    pub beacon_roots: Option<PathBuf>,
    /// Settings of the engine, such as `hash=single` (docs/reference/options.md).
    pub with: Vec<String>,
    /// Number of threads. The default is one for each core.
    pub threads: Option<usize>,
    /// Headers in a chunk; Neo: blocks.
    pub chunk: usize,
    /// Bitcoin and Neo: hash of a block; scripts or witnesses up to it are assumed valid.
    pub assume_valid: Option<String>,
    /// Bitcoin and Neo: MiB of memory for coins or for uncommitted changes of the state.
    pub cache_mib: u64,
    /// Bitcoin and Neo: the most seconds between two commits.
    pub commit_every_s: u64,
    /// Name of the run in its record.
    pub label: Option<String>,
    /// File for the run record.
    pub record: Option<PathBuf>,
    /// Paths that are URLs: the folder that keeps what is fetched of them for later runs.
    pub cache_dir: Option<PathBuf>,
    /// Paths that are URLs: a file or URL with the names of the files in the one folder.
    pub manifest: Option<PathBuf>,
    /// Replace files of an earlier run.
    pub force: bool,
    /// Stops the run when it is set, from any thread.
    pub cancel: Cancel,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            level: None,
            chain: None,
            seal: None,
            seal_seed: None,
            now: None,
            ethash_cache: None,
            from: None,
            until: None,
            partial: false,
            trust: vec![],
            beacon_roots: None,
            with: vec![],
            threads: None,
            chunk: CHUNK,
            assume_valid: None,
            cache_mib: CACHE_MIB,
            commit_every_s: COMMIT_EVERY_S,
            label: None,
            record: None,
            cache_dir: None,
            manifest: None,
            force: false,
            cancel: Cancel::new(),
        }
    }
}

impl VerifyOptions {
    /// The arguments that mean the same.
    pub(crate) fn verification(&self, paths: &[impl AsRef<Path>]) -> Result<Verification> {
        ensure!(!paths.is_empty(), "expected paths, found none");
        for (name, value, range) in [
            ("threads", self.threads.map(|threads| threads as u64), THREADS),
            ("chunk", Some(self.chunk as u64), CHUNKS),
            ("cache", Some(self.cache_mib), CACHES_MIB),
            ("commit-every", Some(self.commit_every_s), COMMITS_S),
        ] {
            expect_in(name, value, &range)?;
        }
        let mut paths: Vec<_> = paths.iter().map(|path| path.as_ref().to_path_buf()).collect();
        let (cache_dir, manifest) = (self.cache_dir.clone(), self.manifest.clone());
        let remote = Remote { cache_dir, manifest };
        // the block files of a store may be at URLs, too
        let stores = bitcoin::sources::replaced(&mut paths)?;
        Ok(Verification {
            mounted: remote::mount(&paths, &remote)?,
            remote,
            stores,
            paths,
            chain: self.chain.clone(),
            level: self.level,
            seal: self.seal.clone(),
            seal_seed: self.seal_seed,
            now: self.now,
            checksums: None,
            ethash_cache: self.ethash_cache.clone(),
            from: self.from,
            until: self.until,
            partial: self.partial,
            trust: self.trust.clone(),
            beacon_roots: self.beacon_roots.clone(),
            with: self.with.clone(),
            threads: self.threads,
            chunk: self.chunk,
            assume_valid: self.assume_valid.clone(),
            cache: self.cache_mib,
            commit_every: self.commit_every_s,
            label: self.label.clone(),
            serve: None,
            record: self.record.clone(),
            profile: false,
            force: Force { force: self.force },
        })
    }
}

fn expect_in(name: &str, value: Option<u64>, range: &RangeInclusive<u64>) -> Result<()> {
    let Some(value) = value else { return Ok(()) };
    let (least, most) = (range.start(), range.end());
    ensure!(range.contains(&value), "--{name}: expected {least} to {most}, found {value}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn defaults_are_those_of_the_command_line() {
        let cli = Cli::try_parse_from(["blockmill", "verify", "-"]).unwrap();
        let Command::Verify(parsed) = cli.command else { panic!("expected verify") };
        let ours = VerifyOptions::default().verification(&["-"]).unwrap();
        assert_eq!(format!("{ours:?}"), format!("{:?}", parsed.verification));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let refused = VerifyOptions { threads: Some(0), ..VerifyOptions::default() };
        let error = refused.verification(&["-"]).unwrap_err().to_string();
        assert_eq!(error, "--threads: expected 1 to 1024, found 0");
        assert!(VerifyOptions::default().verification(&[] as &[&str]).is_err());
    }
}
