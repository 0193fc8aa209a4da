//! The allocator that the program was built with: the one choice that cannot be made when it runs.

#[cfg(feature = "mimalloc")]
mod chosen {
    /// Takes memory from the system.
    pub type Heap = mimalloc::MiMalloc;
    /// The one that there is.
    pub const HEAP: Heap = mimalloc::MiMalloc;
    pub const NAME: &str = "mimalloc";
}

#[cfg(not(feature = "mimalloc"))]
mod chosen {
    /// Takes memory from the system.
    pub type Heap = std::alloc::System;
    /// The one that there is.
    pub const HEAP: Heap = std::alloc::System;
    pub const NAME: &str = "system";
}

pub(crate) use chosen::NAME;
pub use chosen::{HEAP, Heap};
