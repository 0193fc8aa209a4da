//! Block headers: a view into encoded bytes, and an owned value. The folder has the rules of
//! headers, the formulas that they need, and seals.

mod base_fee;
pub(crate) mod bft;
mod blobs;
pub mod clique;
pub mod difficulty;
pub mod ethash;
pub(crate) mod later;
pub mod rules;
pub mod seal;

pub use base_fee::{INITIAL_BASE_FEE, next_base_fee};
pub use blobs::{BLOB_GAS, blob_base_fee, next_excess_blob_gas};
pub use blockmill_rlp::ethereum::OwnedHeader as Header;
pub use blockmill_rlp::ethereum::{
    EMPTY_OMMERS, EMPTY_ROOT, EncodedHeader, HeaderView, block_hash,
};
pub use later::AtGenesis;
