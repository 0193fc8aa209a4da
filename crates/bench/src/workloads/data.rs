//! Input data that is generated once and reused.

use crate::progress;
use crate::scratch::remove;
use anyhow::{Context, Result};
use blockmill_platform::files;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Data on disk.
pub(super) struct Cached {
    /// A file or a folder.
    pub path: PathBuf,
    /// Hash of the last block, if it is known.
    pub tip: Option<String>,
}

/// The file next to complete data.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    /// What it was generated from.
    of: String,
    tip: Option<String>,
}

/// The data called `name` in `folder`. `make` generates it if it does not exist or was generated
/// from something else; `of` determines its content.
pub(super) fn cached(
    folder: &Path,
    name: &str,
    of: &str,
    report: &mut dyn FnMut(&str),
    make: impl FnOnce(&Path) -> Result<Option<String>>,
) -> Result<Cached> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let name = format!("{name}-{:016x}", fnv(of.as_bytes()));
    let (path, note) = (folder.join(&name), folder.join(format!("{name}.json")));
    let noted = fs::read(&note).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if let Some(Note { of: found, tip }) = noted
        && found == of
        && files::is_there(&path).with_context(|| format!("cannot open {}", path.display()))?
    {
        return Ok(Cached { path, tip });
    }
    // `of` identifies the data, and is no text for people
    let what = name.rsplit_once('-').map_or(name.as_str(), |(what, _)| what).replace('-', " ");
    report(&format!("generating {what}; it is kept in {}", path.display()));
    progress::live().enter(format!("generate {what}"), 0);
    remove(&note)?;
    remove(&path)?;
    let tip = make(&path)?;
    progress::live().enter("prepare", 0);
    let whole = Note { of: of.to_owned(), tip: tip.clone() };
    fs::write(&note, serde_json::to_vec(&whole)?)
        .with_context(|| format!("cannot write {}", note.display()))?;
    Ok(Cached { path, tip })
}

/// A short name for a text (FNV-1a).
fn fnv(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_made_once_and_again_when_it_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = 0;
        let mut make = |of: &str| {
            let write = |path: &Path| {
                times += 1;
                fs::write(path, "data")?;
                Ok(Some(format!("tip {times}")))
            };
            cached(folder.path(), "chain", of, &mut |_| {}, write).unwrap()
        };
        let first = make("seven blocks");
        assert_eq!(make("seven blocks").tip.as_deref(), Some("tip 1"));
        assert_eq!(make("eight blocks").tip.as_deref(), Some("tip 2"));
        fs::remove_file(&first.path).unwrap();
        assert_eq!(make("seven blocks").tip.as_deref(), Some("tip 3"));
        fs::remove_file(first.path.with_extension("json")).unwrap();
        assert_eq!(make("seven blocks").tip.as_deref(), Some("tip 4"), "it may be half of it");
    }
}
