//! Repairing a store in place: removes corrupt blocks and parts.

use std::path::Path;

use crate::{
    chain_open,
    chain_store::{ChainStore, Options},
    check::unknown,
    disk::{Disk, RealDisk},
    error::{Result, io_error},
    folder::Folder,
    log_file::LogFile,
    manifest::{self, LIGHT, PartFacts, PartKind},
    opening::{self, Opening, Purpose},
    part::ForeignFormat,
    segment::Segment,
    store::{Store, is_file_of},
    table::number_of,
    tip::Tip,
};

impl ChainStore {
    /// Removes the blocks after `tip`, the last block of [`ChainStore::last_whole`], and the parts
    /// next to the blocks for which `gives_up` returns true, in one commit. `format` knows the
    /// files of parts that another crate defines. If any part was removed, that commit carries
    /// `state` as the state of all parts. Then opens the store for writing once, which rebuilds a
    /// corrupt index.
    ///
    /// # Errors
    /// [`crate::Error::Locked`] if it is open elsewhere; [`crate::Error::Io`] and
    /// [`crate::Error::Corrupt`] of reading and writing.
    pub fn repair(
        dir: &Path,
        tip: Option<&Tip>,
        format: Option<&dyn ForeignFormat>,
        gives_up: impl Fn(&str) -> bool,
        state: &[u8],
    ) -> Result<()> {
        if let Some(tip) = tip {
            let forget = |opening: &mut Opening| Ok(opening.forget(&gives_up));
            let options = Options::default();
            let ((mut store, _), away) = chain_open::open(dir, &options, Purpose::Repair, forget)?;
            match away.is_empty() {
                true => store.truncate_after(tip)?,
                false => store.truncate_after_with(tip, &mut [], state)?,
            }
            remove_files(&store.hashes.folder, format, &away)?;
        }
        ChainStore::open(dir, &Options::default())?.0.sync()
    }

    /// Opens the store in `dir` for writing, however corrupt its blocks are, with further parts,
    /// which `parts` opens. Parts for which `gives_up` returns true are empty. A commit that
    /// removes the corrupt blocks, [`ChainStore::truncate_after_with`], makes the store whole.
    ///
    /// # Errors
    /// [`crate::Error::Locked`] if it is open elsewhere; errors of reading and of `parts`.
    pub fn open_to_repair<T>(
        dir: &Path,
        gives_up: impl Fn(&str) -> bool,
        mut parts: impl FnMut(&mut Opening) -> Result<T>,
    ) -> Result<(ChainStore, T)> {
        let open = |opening: &mut Opening| {
            opening.forget(&gives_up);
            parts(opening)
        };
        let ((store, _), parts) =
            chain_open::open(dir, &Options::default(), Purpose::Repair, open)?;
        Ok((store, parts))
    }
}

impl Store {
    /// Removes the files of the store in `dir`, however corrupt it is; `parts` are names of its
    /// tables and log files. The folder stays, with its lock.
    ///
    /// # Errors
    /// [`crate::Error::Locked`] when it is open elsewhere; those of the system.
    pub fn remove(dir: &Path, parts: &[&str]) -> Result<()> {
        let _lock = opening::locked(&RealDisk, dir)?;
        let is_manifest = |name: &str| {
            [manifest::NAME, manifest::TEMPORARY].contains(&name) || LIGHT.contains(&name)
        };
        let (first, mut others): (Vec<_>, Vec<_>) =
            opening::names(&RealDisk, dir)?.into_iter().partition(|name| is_manifest(name));
        others.retain(|name| parts.iter().any(|part| is_file_of(name, part)));
        // a kill in between leaves a store that is corrupt, too
        for name in first.into_iter().chain(others) {
            let path = dir.join(name);
            RealDisk.remove(&path).map_err(io_error("remove", &path))?;
        }
        RealDisk.sync_folder(dir).map_err(io_error("sync", dir))
    }
}

/// Removes the files of parts that no commit names any more.
fn remove_files(
    folder: &Folder,
    format: Option<&dyn ForeignFormat>,
    away: &[PartFacts],
) -> Result<()> {
    let unknown_part = away.iter().find(|part| part.kind == PartKind::Foreign);
    if let (Some(part), None) = (unknown_part, format) {
        return Err(unknown(&part.name));
    }
    for name in opening::names(&*folder.disk, &folder.dir)? {
        let is_of = |part: &PartFacts| match part.kind {
            PartKind::Table => number_of(&name, &part.name).is_some(),
            PartKind::Log => LogFile::is_own_file(&name, &part.name),
            PartKind::Foreign => {
                format.is_some_and(|it| it.number_of_file(&name, &part.name).is_some())
            }
            PartKind::Segment => Segment::is_own_file(&name, &part.name),
        };
        if away.iter().any(is_of) {
            folder.remove(&folder.dir.join(&name))?;
        }
    }
    Ok(())
}
