//! Data of other programs in formats that are not read. It is recognised by name, so that the
//! message can say which data to use instead.

use std::fs;
use std::path::Path;

use blockmill_platform::files;

use crate::Error;
use crate::format::claims_to_be_archive;
use crate::names::is_undo_file;
use crate::packed;

/// Number of names that are inspected in a folder; it may have thousands.
const MOST_NAMES: usize = 10_000;

/// A kind of data, and the data to use instead.
#[derive(Clone, Copy)]
struct ForeignData {
    what: &'static str,
    instead: &'static str,
}

const EXPORT: &str =
    "have the node export its blocks, as era1 or ere files or as RLP, and give those";

const RETH_STATIC: ForeignData = ForeignData { what: "a static file of reth", instead: EXPORT };
const MDBX: ForeignData =
    ForeignData { what: "an MDBX database, as reth and Erigon have", instead: EXPORT };
const LMDB: ForeignData = ForeignData { what: "an LMDB database", instead: EXPORT };
const ERIGON: ForeignData = ForeignData { what: "a snapshot file of Erigon", instead: EXPORT };
const ROCKSDB: ForeignData =
    ForeignData { what: "a RocksDB database, as Nethermind and Besu have", instead: EXPORT };
const PEBBLE: ForeignData = ForeignData {
    what: "a Pebble or LevelDB database, as geth's chaindata is, without an ancient folder that \
           holds blocks",
    instead: "give the ancient folder (geth --datadir.ancient) where it is elsewhere, or have the \
              node export its blocks, as era1 or ere files or as RLP, and give those",
};
const CORE: ForeignData = ForeignData {
    what: "a data folder of Bitcoin Core without block files",
    instead: "its blk*.dat files are elsewhere (-blocksdir) or were removed (-prune): give the \
              folder that has them",
};
const LEVELDB: ForeignData = ForeignData {
    what: "a LevelDB database, as an old geth's chaindata and Bitcoin Core's chainstate are",
    instead: "give geth's `ancient` folder, or the `blocks` folder of Bitcoin Core",
};
const UNDO: ForeignData = ForeignData {
    what: "undo data of Bitcoin Core (rev*.dat), which has no blocks",
    instead: "give the block files (blk*.dat), or the datadir",
};
const BEACON_ERA: ForeignData = ForeignData {
    what: "an era file of the consensus layer",
    instead: "give the era1 or ere files of the execution layer, or have the node export its \
              blocks",
};

/// Recognises foreign data by the name of a path, or by the names in a folder, and returns the
/// error that says so.
pub(crate) fn recognise(path: &Path) -> Option<Error> {
    // what cannot be opened has its error already
    let is_folder = files::is_folder(path).unwrap_or(false);
    let kind = if is_folder { of_folder(path) } else { of_name(path) }?;
    Some(refusal(path, kind))
}

/// Recognises e2store files without execution blocks, by the type of the record after the version
/// and by name. A file named `.era1` or `.ere` is treated as a corrupt one.
pub(crate) fn recognise_e2store(path: &Path, next: Option<[u8; 2]>) -> Option<Error> {
    if claims_to_be_archive(path) {
        return None;
    }
    let kind = match next {
        // a beacon block, or a beacon state
        Some([1 | 2, 0]) => Some(BEACON_ERA),
        _ => of_name(path),
    };
    kind.map(|kind| refusal(path, kind))
}

/// Replaces [`Error::UnknownFormat`] by a more specific error if the path is recognised as foreign
/// data.
pub(crate) fn name(path: &Path, error: Error) -> Error {
    if !matches!(error, Error::UnknownFormat { .. }) {
        return error;
    }
    if let Some(foreign) = recognise(path) {
        return foreign;
    }
    // what cannot be opened has its error already
    match packed::describe(path) {
        Ok(Some(found)) => Error::UnknownFormat { path: path.to_path_buf(), found },
        _ => error,
    }
}

/// Describes a file of another program and the data to use instead.
pub(crate) fn what_it_is(path: &Path) -> Option<String> {
    of_name(path).map(|ForeignData { what, instead }| format!("{what}: {instead}"))
}

/// Describes a folder without archives.
pub(crate) fn what_is_in(folder: &Path) -> String {
    let names = names(folder);
    let packed = |name: &String| {
        let found = packed::describe(&folder.join(name)).ok().flatten()?;
        Some(format!("a folder with {name} in it, {found}"))
    };
    if let Some(found) = names.iter().find_map(packed) {
        return found;
    }
    match names.len() {
        0 => "an empty folder".into(),
        1 => "a folder with one entry, which is no archive".into(),
        count => format!("a folder with {count} entries, none of which is an archive"),
    }
}

fn refusal(path: &Path, ForeignData { what, instead }: ForeignData) -> Error {
    Error::Foreign { path: path.to_path_buf(), what, instead }
}

fn of_name(path: &Path) -> Option<ForeignData> {
    let name = path.file_name()?.to_str()?;
    let (_, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    Some(match (name, ending) {
        _ if name.starts_with("static_file_") => RETH_STATIC,
        _ if is_undo_file(name.as_bytes()) => UNDO,
        ("mdbx.dat", _) => MDBX,
        ("data.mdb", _) => LMDB,
        (_, "seg") => ERIGON,
        (_, "era") => BEACON_ERA,
        (_, "ldb") => LEVELDB,
        (_, "sst") | ("CURRENT", _) => of_database(path.parent()?)?,
        _ if name.starts_with("MANIFEST-") => of_database(path.parent()?)?,
        _ => return None,
    })
}

/// The database in a folder, by the names in it.
fn of_database(folder: &Path) -> Option<ForeignData> {
    let names = names(folder);
    let has = |wanted: &dyn Fn(&str) -> bool| names.iter().any(|name| wanted(name));
    let is_database = has(&|name| name == "CURRENT") && has(&|name| name.starts_with("MANIFEST-"));
    Some(match () {
        () if !is_database => return None,
        () if has(&|name| name == "IDENTITY") => ROCKSDB,
        () if has(&|name| name.ends_with(".ldb")) => LEVELDB,
        () => PEBBLE,
    })
}

/// Subfolders of a data folder that identify the node.
const INSIDE: [&str; 9] = [
    "static_files",
    "db",
    "chaindata",
    "snapshots",
    "geth/chaindata",
    "database",
    "chainstate",
    "blocks",
    "headers",
];

fn of_folder(folder: &Path) -> Option<ForeignData> {
    if is_of_core(folder) {
        return Some(CORE);
    }
    of_files(folder).or_else(|| INSIDE.iter().find_map(|name| of_files(&folder.join(name))))
}

/// Whether a folder is a datadir of Bitcoin Core, its `blocks` folder, or such a folder of one of
/// its networks.
fn is_of_core(folder: &Path) -> bool {
    let has = |path: &str| of_database(&folder.join(path)).is_some();
    let is_datadir = has("blocks/index") || has("chainstate");
    let is_undo = |name: &String| name.starts_with("rev") && name.ends_with(".dat");
    let is_blocks = has("index") && names(folder).iter().any(is_undo);
    is_datadir || is_blocks
}

fn of_files(folder: &Path) -> Option<ForeignData> {
    of_database(folder)
        .or_else(|| names(folder).iter().find_map(|name| of_name(&folder.join(name))))
}

/// The names in a folder; empty if it cannot be listed.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
