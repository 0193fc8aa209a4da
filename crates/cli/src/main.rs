//! `blockmill`: the library beside it does everything, under this allocator.

use blockmill_bench::counting::CountingAllocator;
use std::process::ExitCode;

/// So that `bench rlp` can count allocations instead of estimating them.
#[global_allocator]
static HEAP: CountingAllocator<blockmill_program::Heap> =
    CountingAllocator(blockmill_program::HEAP);

fn main() -> ExitCode {
    blockmill_cli::main()
}
