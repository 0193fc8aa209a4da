//! Faults that show while an archive is read.

use super::{Cause, Fault};
use crate::error::{Rule, Violation};
use blockmill_verdict::Hex;

impl Fault {
    /// The archive cannot be read where `block` should be, or has another block of a number before
    /// it.
    pub(crate) fn of_archive(block: u64, error: blockmill_archive::Error) -> Self {
        let location = error.location().cloned();
        if let blockmill_archive::Error::Repeated { number, expected, found, before, .. } = &error {
            let body = if expected == found { ", with another body" } else { "" };
            let expected = format!("{}, as read before at {before}", Hex(&expected[..]));
            let found_text = format!("{}{body}", Hex(&found[..]));
            let violation = Violation::new(Rule::RepeatedBlock, expected, found_text);
            let cause = Cause::Rule(violation);
            return Self { block: *number, hash: Some(**found), location, cause };
        }
        Self { block, hash: None, location, cause: Cause::Archive(error) }
    }
}
