//! Names of files in folders of archives: what they say of the content.

use std::cmp::Ordering;
use std::path::Path;

use crate::compression::Compression;

/// A way to pack files that is not read.
pub(crate) struct Packing {
    /// The first bytes of a file; empty if there is no magic.
    pub magic: &'static [u8],
    /// The usual ending of a name.
    pub ending: &'static str,
    /// What such a file is called.
    pub noun: &'static str,
}

const fn packing(magic: &'static [u8], ending: &'static str, noun: &'static str) -> Packing {
    Packing { magic, ending, noun }
}

/// Ways to pack files that are not read.
pub(crate) const PACKINGS: [Packing; 9] = [
    packing(b"7z\xbc\xaf\x27\x1c", ".7z", "a 7z file"),
    packing(b"Rar!", ".rar", "a rar file"),
    packing(b"LZIP", ".lz", "an lzip file"),
    packing(b"\x1f\x9d", ".Z", "a file of compress"),
    packing(b"\xff\x06\x00\x00sNaP", ".sz", "a snappy file"),
    packing(b"\x5d\x00\x00\x80\x00", ".lzma", "an lzma file"),
    packing(b"", ".br", "a brotli file"),
    packing(b"", ".tar", "a tar file"),
    packing(b"", ".tgz", "a tar file"),
];

/// First words in the names of files without blocks.
const TEXTS: [&str; 9] = [
    "readme",
    "license",
    "licence",
    "copying",
    "changelog",
    "checksums",
    "sha256sums",
    "sha512sums",
    "md5sums",
];

/// Endings of the names of files without blocks.
const PLAIN: [&str; 29] = [
    ".txt", ".md", ".rst", ".html", ".pdf", ".json", ".jsonl", ".yml", ".yaml", ".toml", ".conf",
    ".cfg", ".ini", ".csv", ".tsv", ".log", ".asc", ".sig", ".minisig", ".sha256", ".sha512",
    ".sha1", ".md5", ".torrent", ".py", ".sh", ".bat", ".ps1", ".lock",
];

/// Files without blocks that nodes write next to their block files: locks and keys.
const OWN: [&str; 5] = ["lock", "flock", "xor.dat", "nodekey", "jwtsecret"];

/// Whether the name says that the file has no blocks.
pub(crate) fn is_harmless(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = without_packing(&name);
    let is_undo = name.starts_with("rev") && name.ends_with(".dat");
    is_undo
        || OWN.contains(&name)
        || TEXTS.iter().any(|text| name.starts_with(text))
        || PLAIN.iter().any(|ending| name.ends_with(ending))
}

/// A name without the ending of a packing, whether that packing is read or not.
pub(crate) fn without_packing(name: &str) -> &str {
    let unread = PACKINGS.iter().map(|packing| packing.ending);
    let mut endings = unread.chain(Compression::ENDINGS);
    endings.find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// A name without the ending of a compression that is read.
pub(crate) fn without_compression(name: &[u8]) -> &[u8] {
    let mut endings = Compression::ENDINGS.iter();
    endings.find_map(|ending| name.strip_suffix(ending.as_bytes())).unwrap_or(name)
}

/// Whether this is the name of a Bitcoin block file, `blk*.dat`, perhaps compressed.
pub(crate) fn is_block_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| block_file_digits(name.as_encoded_bytes()).is_some())
}

/// The digits in the name of a block file; `None` for any other name.
pub(crate) fn block_file_digits(name: &[u8]) -> Option<&[u8]> {
    let digits = without_compression(name).strip_prefix(b"blk")?.strip_suffix(b".dat")?;
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
}

/// Whether this is the name of an undo file of Bitcoin Core, `rev*.dat`.
pub(crate) fn is_undo_file(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b"rev").and_then(|name| name.strip_suffix(b".dat"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// Compares paths so that a run of digits counts as one number: `x-2` before `x-10`.
pub(crate) fn natural_order(a: &Path, b: &Path) -> Ordering {
    let (mut x, mut y) = (a.as_os_str().as_encoded_bytes(), b.as_os_str().as_encoded_bytes());
    while !x.is_empty() && !y.is_empty() {
        let (left, right) = (digits(x), digits(y));
        let order = if left > 0 && right > 0 {
            compare_numbers(&x[..left], &y[..right])
        } else {
            x[0].cmp(&y[0])
        };
        if order != Ordering::Equal {
            return order;
        }
        (x, y) = (&x[left.max(1)..], &y[right.max(1)..]);
    }
    // equal as numbers but written differently (1 and 01): any fixed order will do
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

fn compare_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let zeros = |n: &[u8]| n.iter().take_while(|c| **c == b'0').count();
    let (a, b) = (&a[zeros(a)..], &b[zeros(b)..]);
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_names_count_as_numbers() {
        let mut names =
            ["x-10", "x-9", "x-010b", "x-2/b", "x-2/a", "a", "x-", "x-99999999999999999"];
        names.sort_by(|a, b| natural_order(Path::new(a), Path::new(b)));
        let expected =
            ["a", "x-", "x-2/a", "x-2/b", "x-9", "x-10", "x-010b", "x-99999999999999999"];
        assert_eq!(names, expected);
    }

    #[test]
    fn order_is_total_for_numbers_with_zeros_in_front() {
        let (a, b) = (Path::new("f1"), Path::new("f01"));
        assert_ne!(natural_order(a, b), Ordering::Equal);
        assert_eq!(natural_order(a, b), natural_order(b, a).reverse());
        assert_eq!(natural_order(a, a), Ordering::Equal);
    }
}
