//! Block files with all that can be wrong with them.
