//! The files of a folder on a server. A bucket lists them. Of an HTTP server they are in a
//! manifest, or in `checksums.txt` in the folder, if that names files; else the server may list
//! them by WebDAV.

use crate::Error;
use crate::address::{Address, Scheme};
use crate::fetch::{failed, look_up};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Files that a folder can have.
pub const MOST: usize = 1 << 20;
/// A list of the files of a folder, with their checksums.
const LIST: &str = "checksums.txt";
/// The longest list that is read.
const LONGEST: u64 = 64 << 20;
/// Files that are looked up at the same time.
const AT_ONCE: usize = 16;

/// Files by their names, relative to the folder.
pub(crate) type Files = BTreeMap<String, ObjectMeta>;

/// The names in a manifest: each line is a name, or a hash and a name. Lines that begin with `#`
/// are comments. Names are relative to the folder.
///
/// # Errors
/// [`Error::Manifest`] for a line that is not such a name.
pub fn names(path: &Path, text: &str) -> Result<Vec<String>, Error> {
    let mut names = vec![];
    for (line, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let name = match text.split_once(char::is_whitespace) {
            Some((hash, name)) if is_hash(hash) => name.trim_start().trim_start_matches('*'),
            Some(_) => "",
            None => text,
        };
        let name = name.strip_prefix("./").unwrap_or(name);
        let is_inside = |part: &str| !part.is_empty() && part != "." && part != "..";
        if is_hash(name) || name.contains("://") || !name.split('/').all(is_inside) {
            let (path, found) = (path.to_path_buf(), text.chars().take(80).collect());
            return Err(Error::Manifest { path, line: line + 1, found });
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    digits.len() >= 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The files of a folder, as a manifest names them or as the server lists them.
pub(crate) async fn list(
    store: &Arc<dyn ObjectStore>,
    folder: &Address,
    manifest: Option<Vec<String>>,
) -> Result<Files, Error> {
    if let Some(names) = manifest {
        return all(store, folder, names).await;
    }
    if folder.scheme != Scheme::Http {
        return listed(store, folder).await;
    }
    let key = folder.key.clone().join(LIST);
    let url = format!("{}/{LIST}", folder.text);
    let variables = folder.scheme.variables();
    if let Some(found) = look_up(&**store, &key, &url, variables).await?
        && found.size <= LONGEST
    {
        let list = async { store.get(&key).await?.bytes().await };
        let list = list.await.map_err(|error| failed(&url, variables, error))?;
        // a list of hashes alone names no files
        if let Ok(mut names) = names(Path::new(&url), &String::from_utf8_lossy(&list)) {
            names.push(LIST.into());
            return all(store, folder, names).await;
        }
    }
    by_webdav(store, folder).await
}

/// Looks up each name.
async fn all(
    store: &Arc<dyn ObjectStore>,
    folder: &Address,
    names: Vec<String>,
) -> Result<Files, Error> {
    let (store, variables) = (&**store, folder.scheme.variables());
    let look_up = |name: String| async move {
        let key = name.split('/').fold(folder.key.clone(), |key, part| key.join(part));
        let url = format!("{}/{name}", folder.text);
        match look_up(store, &key, &url, variables).await? {
            Some(found) => Ok((name, found)),
            None => Err(Error::NotFound { url }),
        }
    };
    stream::iter(names).map(look_up).buffered(AT_ONCE).try_collect().await
}

/// What a bucket lists, with the files of folders in the folder.
async fn listed(store: &Arc<dyn ObjectStore>, folder: &Address) -> Result<Files, Error> {
    let mut files = Files::new();
    let prefix = (!folder.key.as_ref().is_empty()).then_some(&folder.key);
    let mut listing = store.list(prefix);
    while let Some(found) = listing.next().await {
        let found =
            found.map_err(|error| failed(&folder.text, folder.scheme.variables(), error))?;
        insert(&mut files, folder, found)?;
    }
    Ok(files)
}

/// What a server of WebDAV lists; not the files of folders in the folder.
async fn by_webdav(store: &Arc<dyn ObjectStore>, folder: &Address) -> Result<Files, Error> {
    let no_listing = |error| match failed(&folder.text, folder.scheme.variables(), error) {
        Error::Failed { url, reason } => Error::NoListing { url, reason },
        error => error,
    };
    let found = store.list_with_delimiter(Some(&folder.key)).await.map_err(no_listing)?;
    let mut files = Files::new();
    found.objects.into_iter().try_for_each(|found| insert(&mut files, folder, found))?;
    Ok(files)
}

fn insert(files: &mut Files, folder: &Address, found: ObjectMeta) -> Result<(), Error> {
    let inside = found.location.prefix_match(&folder.key);
    let Some(parts) = inside.map(|parts| parts.map(|part| part.as_ref().to_owned())) else {
        return Ok(());
    };
    let name = parts.collect::<Vec<_>>().join("/");
    if name.is_empty() {
        return Ok(());
    }
    files.insert(name, found);
    if files.len() > MOST {
        return Err(Error::TooMany { url: folder.text.clone(), most: MOST });
    }
    Ok(())
}

/// The key of a name in a folder.
pub(crate) fn key_of(folder: &Address, name: &str) -> Result<Key, Error> {
    let inside = Key::from_url_path(name).map_err(|error| Error::Address {
        url: format!("{}/{name}", folder.text),
        expected: "a name",
        found: error.to_string(),
    })?;
    Ok(inside.parts().fold(folder.key.clone(), |key, part| key.join(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_names_with_or_without_hashes() {
        let hash = "ab".repeat(32);
        let text = format!("# comment\na.era1\n\n{hash}  b.era1\r\n{hash} *./chain/c.era1\n");
        let found = names(Path::new("m"), &text).unwrap();
        assert_eq!(found, ["a.era1", "b.era1", "chain/c.era1"]);
    }

    #[test]
    fn a_manifest_stays_in_its_folder() {
        let hash = "ab".repeat(32);
        for line in ["../a", "/a", "a/../b", "http://h/a", "two words", &*hash, "a//b"] {
            let error = names(Path::new("m"), &format!("a\n{line}\n")).unwrap_err().to_string();
            assert!(error.starts_with("m line 2"), "{line}: {error}");
        }
    }
}
