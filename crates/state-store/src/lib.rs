//! The state of an account-based chain in a store: keys, values and the nodes of its tries.
//!
//! * [`Pages`] keep values in pages that are found by the references of the trie's nodes in memory,
//!   as a part of a store.
//! * A [`PageStore`] is a store of pages alone, with a log of what changed since the last
//!   checkpoint.

mod page_store;
mod pages;

pub use page_store::{PageStore, PageStoreOptions};
pub use pages::{
    Change, HeldPages, NodeAt, PAGE_FORMAT, Pages, PagesOptions, PagesSurvey, ReadMethod,
    StagedPages, StateKey, Update,
};
