//! `blockmill-bench`: the library does everything; this installs the allocator.

use blockmill_bench::counting::CountingAllocator;
use blockmill_platform::heap::Heap;
use std::process::ExitCode;

/// Counts allocations where a measurement asks for it.
#[global_allocator]
static HEAP: CountingAllocator<Heap> = CountingAllocator(Heap);

fn main() -> ExitCode {
    blockmill_bench::command::main()
}
