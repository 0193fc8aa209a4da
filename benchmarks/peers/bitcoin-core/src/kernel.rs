//! Bitcoin Core's internals, through `cpp/kernel.cpp`: what the crate `bitcoinkernel` does not
//! offer.

use std::error::Error;
use std::ffi::{CStr, CString, c_char};
use std::path::Path;

/// Which datadir, and how it is opened.
pub struct Request {
    pub dir: String,
    pub chain: String,
    /// Hash of the block up to which scripts are taken for valid, in the order of its bytes.
    pub assumed_valid: Option<[u8; 32]>,
    /// Bytes of all caches, as `-dbcache`.
    pub cache: u64,
    /// Threads that check scripts, besides the one that connects.
    pub script_threads: i32,
    /// Threads that fetch coins ahead.
    pub fetch_threads: i32,
    /// Print Core's log.
    pub log: bool,
    /// Stop when all blocks are in the index; the tip is the best header.
    pub index_only: bool,
}

/// What Core did, and how long it took in seconds.
pub struct Reindexed {
    pub open: f64,
    pub load: f64,
    pub connect: f64,
    pub flush: f64,
    /// CPU time of all threads.
    pub cpu_user: f64,
    pub cpu_sys: f64,
    pub height: i32,
    pub tip: String,
}

/// The coins of a datadir.
pub struct Utxo {
    pub height: i32,
    pub tip: String,
    pub coins: u64,
    pub amount: i64,
    pub transactions: u64,
    /// `hash_serialized_3` of gettxoutsetinfo.
    pub hash: String,
}

/// Core's own reindex of the block files that lie in `blocks` of the datadir.
pub fn reindex(request: &Request) -> Result<Reindexed, Box<dyn Error>> {
    let answer = ask(request, blockmill_reindex)?;
    Ok(Reindexed {
        open: answer.open_s,
        load: answer.load_s,
        connect: answer.connect_s,
        flush: answer.flush_s,
        cpu_user: answer.cpu_user_s,
        cpu_sys: answer.cpu_sys_s,
        height: answer.height,
        tip: text(&answer.tip),
    })
}

/// The statistics of the coins in a datadir.
pub fn utxo(request: &Request) -> Result<Utxo, Box<dyn Error>> {
    let answer = ask(request, blockmill_utxo)?;
    Ok(Utxo {
        height: answer.height,
        tip: text(&answer.tip),
        coins: answer.coins,
        amount: answer.amount,
        transactions: answer.transactions,
        hash: text(&answer.hash_serialized),
    })
}

/// Takes a file out of the page cache.
pub fn evict(path: &Path) -> Result<(), Box<dyn Error>> {
    let name = CString::new(path.to_str().ok_or("a path that is no UTF-8")?)?;
    // SAFETY: the string ends with a zero and lives until the call returns.
    match unsafe { blockmill_evict(name.as_ptr()) } {
        true => Ok(()),
        false => Err(format!("{}: {}", path.display(), std::io::Error::last_os_error()).into()),
    }
}

/// `blockmill_request` of `cpp/kernel.h`.
#[repr(C)]
struct RawRequest {
    datadir: *const c_char,
    chain: *const c_char,
    assumed_valid: *const u8,
    cache: u64,
    script_threads: i32,
    fetch_threads: i32,
    log: i32,
    index_only: i32,
}

/// `blockmill_answer` of `cpp/kernel.h`.
#[repr(C)]
struct RawAnswer {
    open_s: f64,
    load_s: f64,
    connect_s: f64,
    flush_s: f64,
    cpu_user_s: f64,
    cpu_sys_s: f64,
    height: i32,
    tip: [c_char; 65],
    coins: u64,
    amount: i64,
    transactions: u64,
    hash_serialized: [c_char; 65],
    error: [c_char; 256],
}

// SAFETY: whoever calls one gives it a request and an answer that live until it returns.
type Call = unsafe extern "C" fn(*const RawRequest, *mut RawAnswer) -> bool;

// SAFETY: these are the declarations of `cpp/kernel.h`.
unsafe extern "C" {
    fn blockmill_reindex(request: *const RawRequest, answer: *mut RawAnswer) -> bool;
    fn blockmill_utxo(request: *const RawRequest, answer: *mut RawAnswer) -> bool;
    fn blockmill_evict(path: *const c_char) -> bool;
}

fn ask(request: &Request, call: Call) -> Result<RawAnswer, Box<dyn Error>> {
    let (datadir, chain) = (CString::new(&*request.dir)?, CString::new(&*request.chain)?);
    let raw = RawRequest {
        datadir: datadir.as_ptr(),
        chain: chain.as_ptr(),
        assumed_valid: request
            .assumed_valid
            .as_ref()
            .map_or(std::ptr::null(), |hash| hash.as_ptr()),
        cache: request.cache,
        script_threads: request.script_threads,
        fetch_threads: request.fetch_threads,
        log: request.log.into(),
        index_only: request.index_only.into(),
    };
    let mut answer = RawAnswer {
        open_s: 0.0,
        load_s: 0.0,
        connect_s: 0.0,
        flush_s: 0.0,
        cpu_user_s: 0.0,
        cpu_sys_s: 0.0,
        height: 0,
        tip: [0; 65],
        coins: 0,
        amount: 0,
        transactions: 0,
        hash_serialized: [0; 65],
        error: [0; 256],
    };
    // SAFETY: both structs have the layout of their twins in C++, strings and hash live until the
    // call returns, and the other side keeps no pointer.
    match unsafe { call(&raw, &mut answer) } {
        true => Ok(answer),
        false => Err(text(&answer.error).into()),
    }
}

/// A text that ends with a zero, or fills its field.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|byte| byte.cast_unsigned()).collect();
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    text.to_string_lossy().into_owned()
}
