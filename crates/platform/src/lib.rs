//! What only some systems or CPUs offer, in one place. Where it is missing, the program does
//! without: it is slower, or it does not know; only dropping a file from the page cache is an
//! error, because it is asked for by name.
//!
//! | module | Linux | elsewhere |
//! |---|---|---|
//! | [`abort`] | an abort without memory is reported | it ends the process |
//! | [`exec`] | a program in the place of another | a child process |
//! | [`heap`] | exhausted memory is reported | the same |
//! | [`files`] | what a path leads to | without pipes and sockets |
//! | [`input_file`] | a file to read, which may be remote | the same |
//! | [`holes`] | `SEEK_DATA`, `FALLOC_FL_PUNCH_HOLE` | files have no holes |
//! | [`memory`] | huge pages by `madvise` | pages as the system gives them |
//! | [`memory::prefetch`] | x86-64 and aarch64, on any system | no hint |
//! | [`open_files`] | `RLIMIT_NOFILE` | as many as the system gives |
//! | [`random`] | `getrandom` | the generator of that system |
//! | [`page_cache`] | `posix_fadvise` | `Unsupported` |
//! | [`proc`] | `/proc` | nothing is known |
//! | [`remote`] | files at URLs, as a program registers them | the same |
//! | [`folders`] | two names exchanged in one step | in three |
//! | [`locks`] | locks of whole files | the same |
//! | [`links`] | blocks of the disk shared, or hard links | hard links |

pub mod abort;
pub mod exec;
pub mod files;
pub mod folders;
pub mod heap;
pub mod holes;
pub mod input_file;
pub mod links;
pub mod locks;
pub mod memory;
pub mod open_files;
pub mod page_cache;
pub mod proc;
pub mod random;
pub mod remote;
