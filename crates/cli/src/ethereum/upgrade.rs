//! Upgrades a store of headers to bodies, or to executed blocks.
//!
//! The blocks are imported into a store of their own next to it, `DATA.upgrading`, by the same code
//! as any other import: a stop or a kill loses nothing, and the next run continues. When the new
//! store has the last stored header, found by its hash, the two folders swap names in one step.
//! Until then the store of headers is unchanged. Afterwards only its own files are removed; run
//! records and other files are moved to the new store. The next import finishes what a kill
//! interrupted.

use super::network;
use crate::answer::Answer;
use crate::args::Import;
use crate::import::{RECORDS, default_record, run_import};
use crate::paths::{is_file, is_folder};
use anyhow::{Context, Result, bail};
use blockmill_ethereum::Level;
use blockmill_ethereum::params::{KEPT_FILES, keep_in};
use blockmill_pipeline::Cancel;
use blockmill_platform::files::{self, FileKind};
use blockmill_store::{ChainStore, Tip};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the manifest of a store that was replaced: its files may be removed.
const REPLACED: &str = "manifest.replaced";

/// Where the new store is created.
fn sibling(data: &Path) -> PathBuf {
    let mut name = data.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".upgrading");
    data.with_file_name(name)
}

/// Imports blocks for the headers of `store`, which stays locked meanwhile.
pub fn run(args: &Import, store: ChainStore, json: bool, cancel: Cancel) -> Result<Answer> {
    let data = fs::canonicalize(&args.data)
        .with_context(|| format!("cannot find {}", args.data.display()))?;
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else {
        bail!("{}: expected headers in the store, found none", data.display());
    };
    let folder = sibling(&data);
    if let [_, ..] = *store.parts_besides() {
        let parts = store.parts_besides().join(", ");
        bail!("{}: expected headers only, found {parts} besides", data.display());
    }
    expect_level_of(&folder, args.verification.level)?;
    let mut inner = Import { follow: false, ..args.clone() };
    inner.data.clone_from(&folder);
    inner.verification.chain = chain_for(args, &store, &folder)?;
    inner.verification.record.get_or_insert_with(|| default_record(&data));
    let mut answer = run_import(&inner, json, cancel)?;
    let hash_of_tip = |folder: &Path| -> Result<Option<Tip>> {
        let (upgraded, _) = ChainStore::open_read_only(folder)
            .with_context(|| format!("cannot open the store {}", folder.display()))?;
        let Some(last) = upgraded.tip() else { return Ok(None) };
        if upgraded.first() != Some(first) {
            bail!("{}: expected block {first} first, found another", folder.display());
        }
        match upgraded.hash_of(tip.number)? {
            None => Ok(None),
            Some(hash) if hash == tip.hash => Ok(Some(last)),
            Some(_) => bail!(
                "the headers of {} and the blocks in {} are of different chains: remove one",
                data.display(),
                folder.display()
            ),
        }
    };
    let Some(upgraded) = hash_of_tip(&folder)? else {
        let (found, last) = (folder.display(), tip.number);
        answer.notes.push(format!(
            "the store of headers is unchanged: the blocks are in {found}, and replace it when \
             they reach block {last}"
        ));
        if !json {
            eprintln!("{}", answer.notes.last().map_or("", String::as_str));
        }
        return Ok(answer);
    };
    blockmill_platform::folders::exchange(&data, &folder)
        .with_context(|| format!("cannot exchange {} and {}", data.display(), folder.display()))?;
    drop(store);
    let level = Level::stored(upgraded.level).map_or("unknown", Level::name);
    answer.notes.push(format!("the store of headers holds blocks of level {level} now"));
    answer.notes.extend(take_over(&folder, &data, json)?);
    Ok(answer)
}

/// Refuses a level below that at which an interrupted import began to upgrade these headers, in
/// `folder`.
fn expect_level_of(folder: &Path, asked: Option<Level>) -> Result<()> {
    let begun = match ChainStore::open_read_only(folder) {
        Ok((begun, _)) => begun.tip().and_then(|tip| Level::stored(tip.level)),
        Err(blockmill_store::Error::NoStore { .. }) => None,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot open {}", folder.display()));
        }
    };
    let (Some(begun), Some(asked)) = (begun, asked) else { return Ok(()) };
    if asked < begun {
        let (folder, begun, asked) = (folder.display(), begun.name(), asked.name());
        bail!(
            "an interrupted import began to upgrade these headers to level {begun}, in {folder}, \
             found --level {asked}: continue with --level {begun}, or remove the folder {folder}, \
             which holds nothing else, and import again"
        );
    }
    Ok(())
}

/// Finishes an interrupted upgrade: `store` in `data` is the new store, and the store of headers
/// that it replaced still exists.
pub fn finish(data: &Path, store: &ChainStore, json: bool) -> Result<()> {
    let Some(tip) = store.tip().filter(|tip| tip.level > Level::Headers as u8) else {
        return Ok(());
    };
    let data = fs::canonicalize(data).with_context(|| format!("cannot find {}", data.display()))?;
    let folder = sibling(&data);
    let same_chain = |old: &ChainStore| -> Result<bool> {
        let Some(last) = old.tip().filter(|last| last.level == Level::Headers as u8) else {
            return Ok(false);
        };
        let is_within = old.first() == store.first() && last.number <= tip.number;
        Ok(is_within && store.hash_of(last.number)? == Some(last.hash))
    };
    let was_replaced = match ChainStore::open_read_only(&folder) {
        Ok((old, _)) => same_chain(&old)?,
        // the kill came between the last file and its folder
        Err(error @ blockmill_store::Error::Io { .. }) => return Err(error.into()),
        Err(_) if !is_folder(&folder)? => false,
        Err(_) if names(&folder)?.is_empty() => {
            fs::remove_dir(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
            false
        }
        Err(_) => is_file(&folder.join(REPLACED))?,
    };
    if was_replaced {
        take_over(&folder, &data, json)?;
    }
    Ok(())
}

/// Removes the store of headers in `old`, and moves everything else there to `data`. A sentence
/// where something stays, as `data` has something of its name.
fn take_over(old: &Path, data: &Path, json: bool) -> Result<Option<String>> {
    let manifest = old.join(blockmill_store::MANIFEST);
    if is_file(&manifest)? {
        move_to(&manifest, &old.join(REPLACED))?;
    }
    let mut own = vec![];
    for name in names(old)? {
        let (path, to) = (old.join(&name), data.join(&name));
        if name == REPLACED {
            continue;
        } else if blockmill_store::is_own_file(&name) || (is_of_chain(&name) && exists(&to)?) {
            own.push(path);
        } else if !exists(&to)? {
            move_to(&path, &to)?;
        } else if name == RECORDS && is_folder(&path)? {
            take_records(&path, &to)?;
        }
    }
    own.push(old.join(REPLACED));
    for path in own {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    if names(old)?.is_empty() {
        fs::remove_dir(old).with_context(|| format!("cannot remove {}", old.display()))?;
        return Ok(None);
    }
    let (from, to) = (old.display(), data.display());
    let note = format!(
        "{from} still has files that are not the store's: {to} has files of the same names"
    );
    if !json {
        eprintln!("{note}");
    }
    Ok(Some(note))
}

/// Returns whether `name` is a file in which a store keeps its chain.
fn is_of_chain(name: &OsString) -> bool {
    KEPT_FILES.iter().any(|file| name == file)
}

/// The chain to name for the import into `folder`, which is that of `store`: a genesis.json that
/// the store keeps is kept there, too.
fn chain_for(args: &Import, store: &ChainStore, folder: &Path) -> Result<Option<String>> {
    if let Some(chain) = &args.verification.chain {
        let found = network::named(chain, Some(store))?;
        network::expect_rules_of(store, Some(chain), &found)?;
        return Ok(Some(chain.clone()));
    }
    let Some(found) = network::of_store(store)? else { return Ok(None) };
    let Some(file) = found.file else { return Ok(Some(found.spec.name)) };
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    keep_in(folder, &file)?;
    Ok(None)
}

/// Moves run records, except for those whose names exist.
fn take_records(from: &Path, to: &Path) -> Result<()> {
    for name in names(from)? {
        if !exists(&to.join(&name))? {
            move_to(&from.join(&name), &to.join(&name))?;
        }
    }
    if names(from)?.is_empty() {
        fs::remove_dir(from).with_context(|| format!("cannot remove {}", from.display()))?;
    }
    Ok(())
}

fn exists(path: &Path) -> Result<bool> {
    let kind = files::kind_of_name(path);
    Ok(kind.with_context(|| format!("cannot open {}", path.display()))? != FileKind::Absent)
}

fn move_to(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("cannot move {}", from.display()))
}

fn names(folder: &Path) -> Result<Vec<OsString>> {
    let list = || fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect();
    let names: std::io::Result<Vec<OsString>> = list();
    names.with_context(|| format!("cannot list {}", folder.display()))
}
