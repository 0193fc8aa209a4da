//! The state of an account-based chain in a store: keys, values and the nodes of its tries.
//!
//! * [`Pages`] are a part of a store. They keep values in pages, which the references of trie nodes
//!   in memory locate.
//! * A [`PageStore`] is a store of pages alone, with a log of the changes since the last
//!   checkpoint.

mod page_store;
mod pages;

pub use page_store::{PageStore, PageStoreOptions};
pub use pages::{
    Change, HeldPages, NodeAt, PAGE_FORMAT, Pages, PagesOptions, PagesSurvey, ReadMethod,
    StagedPages, StateKey, Update,
};
