//! What the tests of all crates share: real data and other things that are not in the repository
//! ([`macro@needs`], [`fixture`]), seeded randomness ([`Random`]), [`mutations()`] of JSON
//! documents, and [`hex`].
//!
//! Only ever a dev-dependency. A test that needs real data says so:
//!
//! ```text
//! #[blockmill_testkit::needs(fixtures)]
//! #[test]
//! fn reads_a_real_file() {
//!     let bytes = blockmill_testkit::read("bitcoin/mainnet-0-4521.dat");
//! }
//! ```
//!
//! Without `BLOCKMILL_FIXTURES` Cargo shows it as ignored, with the reason; with
//! `BLOCKMILL_REQUIRE=1` it fails with that reason.

mod disk;
mod fixtures;
pub mod hex;
mod mutations;
mod need;
mod place;
mod random;
mod rounds;
pub mod server;

pub use blockmill_testkit_needs::needs;
pub use disk::disk_bytes;
pub use fixtures::{case, fixture, fixtures, read, read_case, tar_files, unpack};
pub use mutations::mutations;
pub use need::{NEEDS, Need, REQUIRE};
pub use place::{must_run, path_of};
pub use random::{Below, Random};
pub use rounds::{rounds, spread};
