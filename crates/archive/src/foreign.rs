//! Data of other programs in formats that are not read. It is recognised by name, so that the
//! message can say which data to use instead.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use blockmill_platform::{files, remote};

use crate::Error;
use crate::blkdat;
use crate::names::is_undo_file;
use crate::packed;

/// Number of names that are inspected in a folder; it may have thousands.
const MOST_NAMES: usize = 10_000;

/// Number of folders of a data folder that are inspected for the databases of a network.
const MOST_NETWORKS: usize = 100;

/// A kind of data, and the data to use instead.
#[derive(Clone)]
struct ForeignData {
    what: Cow<'static, str>,
    instead: Cow<'static, str>,
}

const fn data(what: &'static str, instead: &'static str) -> ForeignData {
    ForeignData { what: Cow::Borrowed(what), instead: Cow::Borrowed(instead) }
}

const RETH: ForeignData = data(
    "a database of reth (MDBX)",
    "have reth write its blocks as era1 files, and give those: `reth export-era --path FOLDER`",
);
const ERIGON_DATABASE: ForeignData = data("a database of Erigon (MDBX)", OF_OTHERS);
const MDBX: ForeignData = data(
    "an MDBX database, as reth and Erigon have",
    "of reth give era1 files (`reth export-era --path FOLDER`); Erigon exports no blocks to files",
);
const LMDB: ForeignData = data("an LMDB database", EXPORT);
const ERIGON: ForeignData = data("a snapshot file of Erigon", OF_OTHERS);
const ROCKSDB: ForeignData = data(
    "a RocksDB database, as Nethermind and Besu have",
    "have Besu export its blocks as RLP (`besu blocks export --to=FILE`), Nethermind as era1 \
     files (`--Era.ExportDirectory FOLDER`), and give those",
);
const BESU: ForeignData = data(
    "a data folder of Besu (RocksDB)",
    "have Besu export its blocks as RLP, and give that file: `besu --data-path=FOLDER blocks \
     export --to=FILE`",
);
const NETHERMIND: ForeignData = data(
    "a database of Nethermind (RocksDB)",
    "have Nethermind export its blocks as era1 files, and give those: `nethermind \
     --Era.ExportDirectory FOLDER`",
);
const PEBBLE: ForeignData = data(
    "a Pebble or LevelDB database, as geth's chaindata is, without an ancient folder that holds \
     blocks",
    "give the ancient folder (geth --datadir.ancient) where it is elsewhere, or have geth export \
     its blocks, and give that file: `geth export FILE`",
);
const CORE: ForeignData = data(
    "a data folder of Bitcoin Core without block files",
    "its blk*.dat files are elsewhere (-blocksdir) or were removed (-prune): give the folder that \
     has them",
);
const LEVELDB: ForeignData = data(
    "a LevelDB database, as an old geth's chaindata and Bitcoin Core's chainstate are",
    "give geth's `ancient` folder, or the `blocks` folder of Bitcoin Core",
);
const UNDO: ForeignData = data(
    "undo data of Bitcoin Core (rev*.dat), which has no blocks",
    "give the block files (blk*.dat), or the datadir",
);
const EXPORT: &str =
    "have the node export its blocks, as era1 or ere files or as RLP, and give those";
const OF_OTHERS: &str = "Erigon exports no blocks to files: give era1 files of the network, or \
                         what another node exports";

/// A static file of reth, by a name such as `static_file_headers_0_499999`, or the file of its
/// offsets (`.off`) or of its settings (`.conf`).
fn of_reth(name: &str) -> Option<ForeignData> {
    let name = name.strip_prefix("static_file_")?;
    let (name, ending) = name.split_once('.').unwrap_or((name, ""));
    let parts = || {
        let (rest, last) = name.rsplit_once('_')?;
        let (segment, first) = rest.rsplit_once('_')?;
        Some((segment, first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    };
    let part = match ending {
        "off" => " (its offsets)",
        "conf" => " (its settings)",
        _ => "",
    };
    let Some((segment, first, last)) = parts() else {
        return Some(ForeignData { what: "a static file of reth".into(), ..RETH });
    };
    Some(ForeignData {
        what: format!("a static file of reth{part}: {segment} of blocks {first} to {last}").into(),
        instead: format!(
            "have reth write these blocks as era1 files, and give those: `reth export-era \
             --first-block-number {first} --last-block-number {last} --path FOLDER`"
        )
        .into(),
    })
}

/// Recognises foreign data by the name of a path, or by the names in a folder, and returns the
/// error that says so.
pub(crate) fn recognise(path: &Path) -> Option<Error> {
    // what cannot be opened has its error already
    let is_folder = files::is_folder(path).unwrap_or(false);
    let kind = if is_folder { of_folder(path) } else { of_name(path) }?;
    Some(refusal(path, kind))
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
    if let Ok(Some(found)) = blkdat::lost_key(path) {
        return Error::UnknownFormat { path: path.to_path_buf(), found };
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
        _ if name.starts_with("static_file_") => of_reth(name)?,
        _ if is_undo_file(name.as_bytes()) => UNDO,
        ("mdbx.dat", _) => of_mdbx(path.parent()?),
        ("data.mdb", _) => LMDB,
        (_, "seg") => ERIGON,
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
        () if has(&|name| name == "IDENTITY") => of_rocksdb(folder),
        () if has(&|name| name.ends_with(".ldb")) => LEVELDB,
        () => PEBBLE,
    })
}

/// The node with a RocksDB database, by the entries next to it.
fn of_rocksdb(folder: &Path) -> ForeignData {
    let above = folder.parent().map(names).unwrap_or_default();
    match () {
        () if above.iter().any(|name| name == "DATABASE_METADATA.json") => BESU,
        () if folder.parent().is_some_and(has_nethermind) => NETHERMIND,
        () => ROCKSDB,
    }
}

/// Whether a folder has the databases of Nethermind, each in a folder of its own.
fn has_nethermind(folder: &Path) -> bool {
    let names = names(folder);
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has("blockInfos") && has("headers")
}

/// The databases of Nethermind in its data folder (`nethermind_db/NETWORK`), or in the folder
/// `nethermind_db` itself.
fn below_nethermind(folder: &Path) -> Option<ForeignData> {
    let of_networks = |folder: &Path| {
        let networks = names(folder);
        let mut few = networks.iter().take(MOST_NETWORKS);
        few.any(|network| {
            let network = folder.join(network);
            has_nethermind(&network) && of_database(&network.join("blocks")).is_some()
        })
    };
    (of_networks(folder) || of_networks(&folder.join("nethermind_db"))).then_some(NETHERMIND)
}

/// The node with an MDBX database, by its name and the entries next to it.
fn of_mdbx(folder: &Path) -> ForeignData {
    let above = folder.parent().map(names).unwrap_or_default();
    let has = |wanted: &str| above.iter().any(|name| name == wanted);
    match () {
        () if has("static_files") => RETH,
        () if has("snapshots") || folder.ends_with("chaindata") => ERIGON_DATABASE,
        () => MDBX,
    }
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
    if let Some(database) = in_core(folder) {
        return Some(database);
    }
    if is_of_core(folder) {
        return Some(CORE);
    }
    of_files(folder)
        .or_else(|| INSIDE.iter().find_map(|name| of_files(&folder.join(name))))
        .or_else(|| below_nethermind(folder))
}

/// A database of Bitcoin Core, by the datadir that it is in.
fn in_core(folder: &Path) -> Option<ForeignData> {
    let datadir = if folder.ends_with("blocks/index") {
        folder.parent()?.parent()?
    } else {
        folder.parent()?
    };
    let what = match folder.file_name()?.to_str()? {
        "chainstate" => "the chainstate of Bitcoin Core",
        "index" => "the block index of Bitcoin Core",
        _ => return None,
    };
    of_database(folder)?;
    let is_core = |name: &str| of_database(&datadir.join(name)).is_some();
    let here = if datadir.as_os_str().is_empty() { Path::new(".") } else { datadir };
    (is_core("chainstate") && is_core("blocks/index")).then(|| ForeignData {
        what: what.into(),
        instead: format!("give its datadir, {}", here.display()).into(),
    })
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
    let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
    if remote::is_remote(folder) {
        return files::list(folder).unwrap_or_default().iter().filter_map(name).collect();
    }
    // a local folder may have many more names
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES);
    entries.filter_map(|entry| name(&entry.path())).collect()
}
