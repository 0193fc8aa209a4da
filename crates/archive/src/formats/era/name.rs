//! Names of era files: `NETWORK-ERA-ROOT.era`.

use std::path::Path;

/// What a name says of a file's content. Other names say nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EraName {
    /// Number of the era: the slot of the state, divided by 8,192.
    pub era: u64,
    /// The first four bytes of the root of the era, in hex.
    pub root: String,
}

impl EraName {
    /// Reads the name of a file, perhaps compressed; `None` if it has another shape.
    pub fn of(path: &Path) -> Option<Self> {
        let name = crate::names::without_compression(path.file_name()?.as_encoded_bytes());
        let mut parts = std::str::from_utf8(name).ok()?.strip_suffix(".era")?.split('-');
        let (_, era, root) = (parts.next()?, parts.next()?, parts.next()?);
        let is_root = root.len() == 8 && root.bytes().all(|c| c.is_ascii_hexdigit());
        let is_era = era.len() >= 5 && era.bytes().all(|c| c.is_ascii_digit());
        let is_name = is_root && is_era && parts.next().is_none();
        let era = era.parse().ok().filter(|_| is_name)?;
        Some(Self { era, root: root.to_lowercase() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_usual_shape_say_era_and_root() {
        let name = |name: &str| EraName::of(Path::new(name));
        let expected = Some(EraName { era: 700, root: "0a0b0c0d".into() });
        assert_eq!(name("folder/mainnet-00700-0a0B0c0d.era"), expected);
        assert_eq!(name("mainnet-00700-0a0b0c0d.era.zst"), expected);
        for other in ["x.era", "mainnet-700-0a0b0c0d.era", "mainnet-00700-0a0b0c0x.era"] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(name("mainnet-00700-0a0b0c0d-more.era"), None);
        assert_eq!(name("mainnet-00700-0a0b0c0d.ere"), None);
    }
}
