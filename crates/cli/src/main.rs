//! `blockmill`: the library does everything; this installs the allocator.

use blockmill_platform::heap::Heap;
use std::process::ExitCode;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    blockmill_cli::main()
}
