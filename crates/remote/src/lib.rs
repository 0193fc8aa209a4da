//! Archives at `http(s)://`, `s3://`, `gs://` and `az://` URLs, read as if they were files.
//!
//! [`mount()`] looks up the URLs of a command; until what it returns is dropped, the `files` and
//! `input_file` modules of `blockmill-platform` find the files there, and the readers of archives
//! need to know nothing of it. A read fetches a range of the file, with retries, and the ranges
//! after it while the reader works; what was read is forgotten, so memory is bounded, and nothing
//! is written to disk. With a cache folder, ranges are written there as well, and a later run
//! fetches only what is not there.
//!
//! | module | what it does |
//! |---|---|
//! | [`address`] | a URL: which server, which folder, which file |
//! | [`listing`] | the files of a folder: by the server, by a manifest, or one by one |
//! | `mount` | the files of one command |
//! | `handle` | an open file: which ranges to fetch, and when |
//! | `pool` | ranges in memory |
//! | `fetch` | one range, from the cache folder or from the server |
//! | `cache` | ranges on disk |
//! | `reason` | why a request failed, in one line |

pub mod address;
mod cache;
mod error;
mod fetch;
mod handle;
pub mod listing;
mod mount;
mod pool;
mod reason;

pub use error::Error;
pub use mount::{Mounted, Options, mount};

use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Threads that speak with servers. They wait most of the time.
const THREADS: usize = 2;

/// The runtime of all requests of this process.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        // fails only if there is one already, which is as good
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(THREADS).thread_name("blockmill-remote").enable_all();
        threads.build().map_err(|error| error.to_string())
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|reason| Error::Threads { reason: reason.clone() })
}
