//! Which program this is. A crate of its own, because it is compiled again after each commit, and
//! nothing else should be.

mod heap;

use blockmill_pipeline::record::Program;
pub use heap::{HEAP, Heap};

/// This program, as records name it. Its revision is that of git, with `-dirty` behind it where
/// what was compiled is not what was committed; empty where the source came without git.
/// `BLOCKMILL_REVISION` at build time says it instead.
pub fn this() -> Program {
    Program {
        name: "blockmill".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        revision: env!("BLOCKMILL_REVISION").into(),
        allocator: heap::NAME.into(),
    }
}

/// What compiled it: `rustc` with its version, and `, incremental` where it compiled in parts.
/// Empty where the compiler did not say.
pub fn compiler() -> &'static str {
    env!("BLOCKMILL_COMPILER")
}
