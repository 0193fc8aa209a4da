//! The tables of formats agree with each other and with the documents.

use std::path::Path;

use super::*;
use crate::format::{all, any_of_them};

#[test]
fn each_format_has_the_row_of_its_name() {
    for (format, name) in [
        (Format::Era1, "era1"),
        (Format::Ere, "ere"),
        (Format::Era, "era"),
        (Format::Freezer, "freezer"),
        (Format::Store, "store"),
        (Format::RlpExport, "rlp"),
        (Format::HeaderStream, "headers"),
    ] {
        assert_eq!((format.row().format, format.name()), (format, name));
    }
    assert_eq!(
        any_of_them(),
        "an era1 file, an ere file, an era file, a store, an ancient folder, an RLP export, a \
         header stream, Bitcoin block files, Bitcoin headers or a Neo block dump"
    );
}

#[test]
fn names_are_unique_and_documents_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for format in all() {
        assert_eq!(all().filter(|other| other.name == format.name).count(), 1);
        assert!(root.join(format.document).is_file(), "{}", format.document);
    }
    for target in Target::all() {
        assert_eq!(Target::all().filter(|other| other.name == target.name).count(), 1);
    }
}
