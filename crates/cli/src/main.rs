//! `blockmill`: the library beside it does everything, under this allocator.

use lab::counting::CountingAllocator;
use std::process::ExitCode;

/// So that `bench rlp` can count allocations instead of estimating them.
#[global_allocator]
static HEAP: CountingAllocator<program::Heap> = CountingAllocator(program::HEAP);

fn main() -> ExitCode {
    blockmill_cli::main()
}
