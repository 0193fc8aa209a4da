//! Which program this is: its version, its revision, its compiler and its command line.

use blockmill_pipeline::record::Program;
use blockmill_platform::heap::ALLOCATOR_NAME;
use std::path::Path;

/// This program, as records name it. The revision is that of git, with `-dirty` appended if the
/// compiled source is not the committed one; empty if the source came without git. The environment
/// variable `BLOCKMILL_REVISION` at build time replaces it.
#[must_use]
pub fn this() -> Program {
    Program {
        name: "blockmill".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        revision: env!("BLOCKMILL_REVISION").into(),
        allocator: ALLOCATOR_NAME.into(),
        profile: env!("BLOCKMILL_PROFILE").into(),
    }
}

/// The compiler of this program: `rustc` with its version, `, incremental` for an incremental
/// build, and the profile unless it is `dist`. The version is empty if the compiler printed none.
#[must_use]
pub fn compiler() -> &'static str {
    env!("BLOCKMILL_COMPILER")
}

/// The command line as text for records, with the program's name instead of its path. Bytes that
/// are not UTF-8 are replaced.
#[must_use]
pub fn command_line() -> Vec<String> {
    let mut words: Vec<_> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}
