//! The two JSON forms of items.
