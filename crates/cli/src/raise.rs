//! A store of headers becomes one of bodies.
//!
//! The bodies are imported into a store of their own beside it, `DATA.raising`, by the same code as
//! any other import: so a stop or a kill loses nothing, and the next run goes on. When it has the
//! last stored header, found by its hash, the two folders change names in one step. Until then the
//! store of headers is as it was.

use crate::answer::Answer;
use crate::args::Import;
use crate::{import, output};
use anyhow::{Context, Result, bail};
use pipeline::Cancel;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use store::{ChainStore, Tip};

/// Where the new store is made.
fn beside(data: &Path) -> PathBuf {
    let mut name = data.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".raising");
    data.with_file_name(name)
}

/// Imports bodies for the headers of `store`, which stays locked meanwhile.
pub fn run(args: &Import, store: ChainStore, json: bool, cancel: Cancel) -> Result<Answer> {
    let data = fs::canonicalize(&args.data)
        .with_context(|| format!("cannot find {}", args.data.display()))?;
    let (Some(first), Some(tip)) = (store.first(), store.tip()) else {
        bail!("{}: expected headers in the store, found none", data.display());
    };
    let folder = beside(&data);
    let mut inner = args.clone();
    inner.data.clone_from(&folder);
    let record = data.join("records").join(format!("{}.json", output::time_stamp()));
    inner.verification.record.get_or_insert(record);
    let mut answer = import::run_import(&inner, json, cancel)?;
    let hash_of_tip = |folder: &Path| -> Result<Option<Tip>> {
        let (raised, _) = ChainStore::open_read_only(folder)
            .with_context(|| format!("cannot open the store {}", folder.display()))?;
        let Some(last) = raised.tip() else { return Ok(None) };
        if raised.first() != Some(first) {
            bail!("{}: expected block {first} first, found another", folder.display());
        }
        match raised.hash_of(tip.number)? {
            None => Ok(None),
            Some(hash) if hash == tip.hash => Ok(Some(last)),
            Some(_) => bail!(
                "the headers of {} and the bodies in {} are of different chains: remove one",
                data.display(),
                folder.display()
            ),
        }
    };
    let Some(_) = hash_of_tip(&folder)? else {
        let (found, last) = (folder.display(), tip.number);
        answer.notes.push(format!(
            "the store of headers is as it was: bodies are in {found}, and replace it when they \
             reach block {last}"
        ));
        if !json {
            eprintln!("{}", answer.notes.last().map_or("", String::as_str));
        }
        return Ok(answer);
    };
    system::folders::exchange(&data, &folder)
        .with_context(|| format!("cannot exchange {} and {}", data.display(), folder.display()))?;
    drop(store);
    keep_records(&folder, &data)?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    answer.notes.push("the store of headers holds bodies now".to_owned());
    Ok(answer)
}

/// Takes the run records of the old store over.
fn keep_records(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (from.join("records"), to.join("records"));
    if !from.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(&to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(&from).with_context(|| format!("cannot list {}", from.display()))? {
        let name = entry.with_context(|| format!("cannot list {}", from.display()))?.file_name();
        let (old, new) = (from.join(&name), to.join(&name));
        fs::rename(&old, &new).with_context(|| format!("cannot move {}", old.display()))?;
    }
    Ok(())
}
