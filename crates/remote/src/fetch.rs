//! One range of a file: from the cache folder if it is there, else from the server.
//!
//! The store retries requests that fail and answers of 500 and above. A body that ends early is
//! retried here. Each request demands the file that was found (`If-Match`), and each answer is
//! compared with it, because not all servers know that header.

use crate::cache::Cached;
use crate::reason::reason;
use crate::{Error, runtime};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to fetch a range whose body ends early.
const ATTEMPTS: u32 = 5;
/// Time before the second attempt; twice as much before each other.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// A file on a server, as it was when it was found.
#[derive(Debug)]
pub struct Object {
    /// Its number in the pool.
    pub id: u64,
    pub url: String,
    pub meta: ObjectMeta,
    /// Environment variables with credentials.
    pub variables: &'static str,
}

impl Object {
    /// ETag and length, or the time of the last change where there is no ETag.
    pub fn identity(&self) -> String {
        identity(&self.meta)
    }

    /// A number that is another one when the file is another one.
    pub fn version(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.identity().hash(&mut hash);
        hash.finish()
    }

    /// The ETag that a server compares byte for byte.
    fn strong_tag(&self) -> Option<String> {
        self.meta.e_tag.as_deref().filter(|tag| !tag.starts_with("W/")).map(quoted)
    }
}

/// An ETag as headers have it. Azure lists them without quotes.
fn quoted(tag: &str) -> String {
    let is_whole = tag.starts_with(['"', 'W']);
    if is_whole { tag.to_owned() } else { format!("\"{tag}\"") }
}

fn identity(meta: &ObjectMeta) -> String {
    let length = meta.size;
    match &meta.e_tag {
        Some(tag) => format!("ETag {}, {length} bytes", quoted(tag)),
        None => format!("{length} bytes of {}", meta.last_modified.to_rfc3339()),
    }
}

/// What the server answers, as an error that names the file.
pub fn failed(url: &str, variables: &'static str, error: object_store::Error) -> Error {
    use object_store::Error as E;
    let url = url.to_owned();
    match error {
        E::NotFound { .. } => Error::NotFound { url },
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            Error::Denied { url, variables, reason: reason(&error) }
        }
        E::NotSupported { .. } => Error::NoRanges { url },
        other => Error::Failed { url, reason: reason(&other) },
    }
}

/// What is at a key; `None` if the server says that nothing is.
pub async fn look_up(
    store: &dyn ObjectStore,
    key: &Key,
    url: &str,
    variables: &'static str,
) -> Result<Option<ObjectMeta>, Error> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    match store.get_opts(key, options).await {
        Ok(found) => Ok(Some(found.meta)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(url, variables, error)),
    }
}

/// Fetches a range in the background, and calls `arrived` with it.
///
/// # Errors
/// [`Error::Threads`].
pub fn start(
    store: Arc<dyn ObjectStore>,
    object: Arc<Object>,
    cached: Option<Arc<Cached>>,
    range: Range<u64>,
    arrived: impl FnOnce(Result<Bytes, Error>) + Send + 'static,
) -> Result<(), Error> {
    runtime()?.spawn(async move {
        if let Some(cached) = cached.clone().filter(|cached| cached.has(&range)) {
            tokio::task::spawn_blocking(move || arrived(cached.read(&range)));
            return;
        }
        match (fetch(&*store, &object, &range).await, cached) {
            (Ok(bytes), Some(cached)) => {
                let write = move || cached.write(range.start, &bytes).map(|()| bytes);
                tokio::task::spawn_blocking(move || arrived(write()));
            }
            (came, _) => arrived(came),
        }
    });
    Ok(())
}

async fn fetch(
    store: &dyn ObjectStore,
    object: &Object,
    range: &Range<u64>,
) -> Result<Bytes, Error> {
    let (mut attempt, mut wait) = (1, FIRST_WAIT);
    loop {
        match fetch_once(store, object, range).await {
            Err(Error::Truncated { .. }) if attempt < ATTEMPTS => {}
            Err(error @ (Error::Failed { .. } | Error::Truncated { .. })) => {
                return Err(changed(store, object).await.unwrap_or(error));
            }
            result => return result,
        }
        tokio::time::sleep(wait).await;
        (attempt, wait) = (attempt + 1, wait * 2);
    }
}

/// An error if there is another file now than the one that was found.
async fn changed(store: &dyn ObjectStore, object: &Object) -> Option<Error> {
    let found = look_up(store, &object.meta.location, &object.url, object.variables).await;
    match found.ok()? {
        Some(found) => other_file(object, &found).err(),
        None => Some(object.changed("no file".into())),
    }
}

fn other_file(object: &Object, found: &ObjectMeta) -> Result<(), Error> {
    let tags = object.meta.e_tag.as_ref().zip(found.e_tag.as_ref());
    let is_same = match tags {
        Some((expected, found)) => quoted(expected) == quoted(found),
        None => object.meta.last_modified == found.last_modified,
    };
    if is_same && object.meta.size == found.size {
        return Ok(());
    }
    Err(object.changed(identity(found)))
}

impl Object {
    fn changed(&self, found: String) -> Error {
        Error::Changed { url: self.url.clone(), expected: self.identity(), found }
    }
}

async fn fetch_once(
    store: &dyn ObjectStore,
    object: &Object,
    range: &Range<u64>,
) -> Result<Bytes, Error> {
    let options = GetOptions {
        range: Some(GetRange::Bounded(range.clone())),
        if_match: object.strong_tag(),
        ..GetOptions::default()
    };
    let result = match store.get_opts(&object.meta.location, options).await {
        Ok(result) => result,
        Err(object_store::Error::NotFound { .. }) => {
            return Err(object.changed("no file".into()));
        }
        Err(object_store::Error::Precondition { .. }) => {
            let other = object.changed("another ETag".into());
            return Err(changed(store, object).await.unwrap_or(other));
        }
        Err(error) => return Err(failed(&object.url, object.variables, error)),
    };
    other_file(object, &result.meta)?;
    let expected = range.end - range.start;
    let short = |found| {
        let (url, offset) = (object.url.clone(), range.start);
        Error::Truncated { url, offset, expected, found }
    };
    let mut bytes = Vec::with_capacity(expected as usize);
    let mut stream = result.into_stream();
    while let Some(piece) = stream.next().await {
        // the server closed the connection, or is silent
        let piece = piece.map_err(|_| short(bytes.len() as u64))?;
        if bytes.len() as u64 + piece.len() as u64 > expected {
            return Err(Error::NoRanges { url: object.url.clone() });
        }
        bytes.extend_from_slice(&piece);
    }
    if (bytes.len() as u64) < expected {
        return Err(short(bytes.len() as u64));
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_are_compared_as_headers_have_them() {
        for (listed, header) in [("0x8D", "\"0x8D\""), ("\"a\"", "\"a\""), ("W/\"a\"", "W/\"a\"")] {
            assert_eq!(quoted(listed), header);
        }
    }
}
