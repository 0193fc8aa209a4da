//! The remote files of one command.
//!
//! Each URL is a folder that is listed, or a file in a folder of which nothing else is known until
//! it is asked for. Where several commands of a process have the same folder, each has its own
//! mount of it, and the latest one answers.

use crate::address::Address;
use crate::cache::Cached;
use crate::fetch::{self, Object};
use crate::handle::Handle;
use crate::listing::{self, key_of};
use crate::pool::{Id, Pool};
use crate::{Error, runtime};
use blockmill_platform::files::FileKind;
use blockmill_platform::input_file::InputFile;
use blockmill_platform::remote::{self, RemoteFile, RemoteFiles, is_remote};
use bytes::Bytes;
use object_store::{ObjectMeta, ObjectStore};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The longest manifest that is read.
const LONGEST: u64 = 64 << 20;

/// How remote files are read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A file or URL with the names of the files of the one folder that is read.
    pub manifest: Option<PathBuf>,
    /// The folder that keeps what was fetched.
    pub cache: Option<PathBuf>,
}

/// Keeps remote files there; they are gone when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Mounted(Vec<Arc<Mount>>);

/// A folder on a server.
#[derive(Debug)]
pub struct Mount {
    folder: Address,
    store: Arc<dyn ObjectStore>,
    files: Mutex<BTreeMap<String, Arc<Object>>>,
    /// Whether `files` has all files of the folder.
    is_whole: bool,
    pool: Mutex<Pool>,
    arrived: Condvar,
    cache: Option<PathBuf>,
    cached: Mutex<HashMap<Id, Weak<Cached>>>,
}

/// All mounts of this process; the latest one is the last.
static MOUNTS: Mutex<Vec<Arc<Mount>>> = Mutex::new(vec![]);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // a panic of another thread leaves lists and maps whole
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks up the URLs among `paths`, so that their files are found until the result is dropped.
///
/// # Errors
/// The error of the first URL that cannot be used. A file that is not there is no error yet.
pub fn mount(paths: &[PathBuf], options: &Options) -> io::Result<Mounted> {
    remote::register(Box::new(All));
    let mut mounted = Mounted(vec![]);
    let urls: BTreeSet<&str> =
        paths.iter().filter(|path| is_remote(path)).filter_map(|path| path.to_str()).collect();
    let manifest = options.manifest.as_deref().map(read_manifest).transpose()?;
    let mut folders = BTreeSet::new();
    for url in urls {
        let mut address = Address::parse(url)?;
        address.is_folder |= manifest.is_some();
        let mount = Mount::of(address, manifest.clone(), options.cache.clone())?;
        // files of one folder are one mount
        if folders.insert((mount.folder.text.clone(), mount.is_whole)) {
            let mount = Arc::new(mount);
            mounted.0.push(mount.clone());
            locked(&MOUNTS).push(mount);
        }
    }
    Ok(mounted)
}

fn read_manifest(path: &Path) -> io::Result<Vec<String>> {
    let _mounted = match is_remote(path) {
        true => Some(mount(&[path.to_path_buf()], &Options::default())?),
        false => None,
    };
    let read = || -> io::Result<String> {
        let mut text = String::new();
        InputFile::open(path)?.reader().take(LONGEST).read_to_string(&mut text)?;
        Ok(text)
    };
    let text = read().map_err(Error::io("cannot read the manifest", path))?;
    Ok(listing::names(path, &text)?)
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let is_own = |mount: &Arc<Mount>| self.0.iter().any(|own| Arc::ptr_eq(own, mount));
        locked(&MOUNTS).retain(|mount| !is_own(mount));
    }
}

impl Mount {
    /// A folder with its listing, or the folder of a file.
    fn of(
        address: Address,
        manifest: Option<Vec<String>>,
        cache: Option<PathBuf>,
    ) -> Result<Self, Error> {
        // it chooses the code of TLS, so it comes first
        let runtime = runtime()?;
        let store = address.store()?;
        let found = async {
            if !address.is_folder {
                let (key, variables) = (&address.key, address.scheme.variables());
                if let Some(meta) = fetch::look_up(&*store, key, &address.text, variables).await? {
                    return Ok((Some(meta), listing::Files::new()));
                }
            }
            let files = listing::list(&store, &address, manifest).await;
            match files {
                // neither a file nor a folder of that name
                Ok(files) if files.is_empty() => Err(Error::NotFound { url: address.text.clone() }),
                Err(Error::NoListing { url, .. }) if !address.is_folder => {
                    Err(Error::NotFound { url })
                }
                files => Ok((None, files?)),
            }
        };
        let (file, files) = runtime.block_on(found)?;
        let is_whole = file.is_none();
        let folder = if is_whole { address.clone() } else { address.parent() };
        let mount = Self {
            store,
            files: Mutex::default(),
            is_whole,
            pool: Mutex::default(),
            arrived: Condvar::new(),
            cache,
            cached: Mutex::default(),
            folder,
        };
        let name = || address.text[mount.folder.text.len()..].trim_matches('/').to_owned();
        let file = file.map(|meta| (name(), meta));
        for (name, meta) in files.into_iter().chain(file) {
            mount.add(name, meta);
        }
        Ok(mount)
    }

    fn add(&self, name: String, meta: ObjectMeta) -> Arc<Object> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        let url = format!("{}/{name}", self.folder.text);
        let variables = self.folder.scheme.variables();
        let object = Arc::new(Object { id, url, meta, variables });
        locked(&self.files).entry(name).or_insert(object).clone()
    }

    /// The name of `url` in the folder; empty for the folder itself.
    fn name<'a>(&self, url: &'a str) -> Option<&'a str> {
        let rest = url.strip_prefix(&*self.folder.text)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/'))
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Object>>, Error> {
        if let Some(found) = locked(&self.files).get(name) {
            return Ok(Some(found.clone()));
        }
        if self.is_whole || name.is_empty() {
            return Ok(None);
        }
        let (key, url) = (key_of(&self.folder, name)?, format!("{}/{name}", self.folder.text));
        let variables = self.folder.scheme.variables();
        let found = fetch::look_up(&*self.store, &key, &url, variables);
        let found = runtime()?.block_on(found)?;
        Ok(found.map(|meta| self.add(name.to_owned(), meta)))
    }

    /// Whether files are in a folder of this name.
    fn is_folder(&self, name: &str) -> bool {
        let inside = format!("{name}/");
        let files = locked(&self.files);
        name.is_empty()
            || files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(first, _)| first.starts_with(&inside))
    }

    /// The file after `object` in the order of names.
    pub fn after(&self, object: &Object) -> Option<Arc<Object>> {
        let name = self.name(&object.url)?;
        let files = locked(&self.files);
        let after = (std::ops::Bound::Excluded(name.to_owned()), std::ops::Bound::Unbounded);
        files.range(after).next().map(|(_, object)| object.clone())
    }

    pub fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    pub fn pool(&self) -> MutexGuard<'_, Pool> {
        locked(&self.pool)
    }

    /// Waits until a range has arrived, or so long.
    pub fn wait<'a>(&self, pool: MutexGuard<'a, Pool>, most: Duration) -> MutexGuard<'a, Pool> {
        self.arrived.wait_timeout(pool, most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn arrive(&self, id: Id, start: u64, came: Result<Bytes, Error>) {
        self.pool().arrive(id, start, came);
        self.arrived.notify_all();
    }

    /// What the cache folder has of a file; `None` without one, or while another process uses it.
    pub fn cached(&self, object: &Object) -> Result<Option<Arc<Cached>>, Error> {
        let Some(folder) = &self.cache else { return Ok(None) };
        let mut all = locked(&self.cached);
        if let Some(cached) = all.get(&object.id).and_then(Weak::upgrade) {
            return Ok(Some(cached));
        }
        let opened = Cached::open(folder, &self.folder, object)?.map(Arc::new);
        if let Some(cached) = &opened {
            all.insert(object.id, Arc::downgrade(cached));
        }
        Ok(opened)
    }
}

/// What `blockmill-platform` asks: all mounts of this process.
#[derive(Debug)]
struct All;

impl All {
    /// The latest mount that has `path`, and its name there.
    fn of<'a>(&self, path: &'a Path) -> Result<(Arc<Mount>, &'a str), Error> {
        let url = path.to_str().unwrap_or_default();
        let mounts = locked(&MOUNTS).clone();
        let found = mounts.iter().rev().find_map(|mount| Some((mount.clone(), mount.name(url)?)));
        let outside = || Error::Address {
            url: url.to_owned(),
            expected: "a file of the URLs that were given",
            found: "another one".into(),
        };
        found.ok_or_else(outside)
    }
}

impl RemoteFiles for All {
    fn kind(&self, url: &Path) -> io::Result<FileKind> {
        let (mount, name) = self.of(url)?;
        if mount.is_folder(name) {
            return Ok(FileKind::Folder);
        }
        Ok(mount.find(name)?.map_or(FileKind::Absent, |_| FileKind::File))
    }

    fn list(&self, url: &Path) -> io::Result<Vec<PathBuf>> {
        let (mount, folder) = self.of(url)?;
        let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let files = locked(&mount.files);
        let names = files.range(inside.clone()..).map_while(|(name, _)| name.strip_prefix(&inside));
        let first = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let names: BTreeSet<String> = names.map(first).collect();
        Ok(names.into_iter().map(|name| url.join(name)).collect())
    }

    fn open(&self, url: &Path) -> io::Result<Arc<dyn RemoteFile>> {
        let (mount, name) = self.of(url)?;
        match mount.find(name)? {
            Some(object) => Ok(Arc::new(Handle::open(mount, object)?)),
            None => Err(Error::NotFound { url: url.display().to_string() }.into()),
        }
    }
}
