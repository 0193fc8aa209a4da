//! Bitcoin stores as archives: the block files that a store was built from are read instead.

use crate::args::Command;
use crate::data_folder;
use anyhow::Result;
use blockmill_archive::{Family, Output};
use blockmill_bitcoin::Error;
use blockmill_bitcoin::chainstate;
use blockmill_bitcoin::import::Options;
use blockmill_bitcoin::sources::Sources;
use blockmill_platform::remote::is_remote;
use std::path::{Path, PathBuf};

/// Puts the block files in the place of the stores that a command was given.
pub fn resolve(command: &mut Command) -> Result<()> {
    match command {
        Command::Import(args) => {
            let args = &mut args.verification;
            args.stores = replaced(&mut args.paths)?;
        }
        Command::Verify(args) => {
            let args = &mut args.verification;
            args.stores = replaced(&mut args.paths)?;
        }
        Command::Export(args) => {
            let args = &mut args.verification;
            args.stores = replaced(&mut args.paths)?;
        }
        Command::Convert(args) => {
            args.stores = replaced(&mut args.paths)?;
            // the store that is handed over is the one that was given
            if let ([store], Output::CoreDatadir) = (args.stores.as_slice(), args.to.output) {
                let is_none = match &args.data {
                    Some(data) => data_folder::family_of(data)?.is_none(),
                    None => true,
                };
                if is_none {
                    args.data = Some(store.clone());
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The block files in the place of the stores among `paths`, which are returned.
pub fn replaced(paths: &mut Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut stores = vec![];
    let mut all = vec![];
    for path in paths.drain(..) {
        // a store is a folder of this machine
        if !is_remote(&path) && data_folder::family_of(&path)? == Some(Family::Bitcoin) {
            all.extend(block_files(&path)?);
            stores.push(path);
        } else {
            all.push(path);
        }
    }
    *paths = all;
    Ok(stores)
}

fn block_files(store: &Path) -> Result<Vec<PathBuf>> {
    let Some(sources) = Sources::load(store)? else {
        let what = "expected an index that names its block files, found no file";
        let what = format!("{}: {what}; give the block files themselves", store.display());
        return Err(Error::Corrupt(what).into());
    };
    Ok(sources.paths(store)?)
}

/// Demands that the chain has the last block of each store.
pub fn expect_tips(stores: &[PathBuf], options: &mut Options) -> Result<()> {
    for store in stores {
        options.contains.extend(chainstate::committed(store, options)?);
    }
    Ok(())
}

/// What a reader should know of a run over the files of stores.
pub fn notes(stores: &[PathBuf]) -> impl Iterator<Item = String> {
    stores.iter().map(|store| {
        let store = store.display();
        format!(
            "{store} is a store: its block files were read; `blockmill check {store}` reads its \
             coins and undo data"
        )
    })
}
