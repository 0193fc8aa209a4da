//! Names of ere files: `NETWORK-ERA-HASH[-noproofs][-noreceipts].ere`.

use blockmill_verdict::Digits;
use std::path::Path;

/// What a name says of a file's content. Other names say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EraName {
    /// Number of the era: the number of the first block, divided by 8,192.
    pub era: u64,
    /// The first four bytes of the hash of the last block, in hex.
    pub hash: String,
    /// Whether it says that there are no receipts.
    pub no_receipts: bool,
    /// Whether it says that there are no proofs.
    pub no_proofs: bool,
}

impl EraName {
    /// Reads the name of a file, perhaps compressed; `None` if it has another shape.
    pub fn of(path: &Path) -> Option<Self> {
        let name = crate::names::without_compression(path.file_name()?.as_encoded_bytes());
        let name = std::str::from_utf8(name).ok()?;
        let stem = name.strip_suffix(".ere").or_else(|| name.strip_suffix(".erae"))?;
        let mut parts = stem.split('-');
        let (_, era, hash) = (parts.next()?, parts.next()?, parts.next()?);
        let is_hash = hash.len() == 8 && hash.bytes().all(|c| c.is_ascii_hexdigit());
        let is_era = era.len() >= 5 && era.bytes().all(|c| c.is_ascii_digit());
        let era = era.parse().ok().filter(|_| is_era && is_hash)?;
        let mut found =
            Self { era, hash: hash.to_lowercase(), no_receipts: false, no_proofs: false };
        for profile in parts {
            match profile {
                "noreceipts" => found.no_receipts = true,
                "noproofs" => found.no_proofs = true,
                _ => return None,
            }
        }
        Some(found)
    }
}

/// The usual name of a file without proofs: network, number of the era, first four bytes of the
/// hash of the last block.
pub(super) fn file_name(network: &str, era: u64, last: &[u8; 32], receipts: bool) -> String {
    let hash = Digits(&last[..4]);
    let profile = if receipts { "" } else { "-noreceipts" };
    format!("{network}-{era:05}-{hash}-noproofs{profile}.ere")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_usual_shape_say_era_hash_and_profile() {
        let name = |name: &str| EraName::of(Path::new(name));
        let written = file_name("mainnet", 1, &[0x0a; 32], false);
        assert_eq!(written, "mainnet-00001-0a0a0a0a-noproofs-noreceipts.ere");
        let expected =
            EraName { era: 1, hash: "0a0a0a0a".into(), no_receipts: true, no_proofs: true };
        assert_eq!(name(&written), Some(expected.clone()));
        assert_eq!(name("x-00001-0A0A0A0A-noreceipts-noproofs.erae.gz"), Some(expected));
        assert_eq!(name("x-00001-0a0a0a0a.ere").map(|it| it.no_proofs), Some(false));
        for other in ["x.ere", "x-1-0a0a0a0a.ere", "x-00001-0a0a0a.ere", "x-00001-0a0a0a0a.era1"] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(name("x-00001-0a0a0a0a-other.ere"), None);
    }
}
