//! The texts of errors.

use std::fmt;

use blockmill_verdict::Hex;

use super::Error;
use crate::format;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, action, source } => {
                write!(f, "{}: {action}: {source}", path.display())
            }
            Self::Truncated { location, what, needed, available } => {
                write!(f, "{location}: {what}: expected {needed} bytes, found {available}")
            }
            Self::BadMagic { location, expected, found } => {
                write!(f, "{location}: expected {expected}, found {}", Hex(found))
            }
            Self::BadRecord { location, what, expected, found }
            | Self::Index { location, what, expected, found }
            | Self::Missing { location, what, expected, found } => {
                write!(f, "{location}: {what}: expected {expected}, found {found}")
            }
            Self::Snappy { location, what, reason } => {
                write!(f, "{location}: {what}: expected Snappy data, found {reason}")
            }
            Self::Crc { location, what, expected, found } => {
                write!(
                    f,
                    "{location}: {what}: expected checksum {expected:#010x}, found {found:#010x}"
                )
            }
            Self::Compressed { location, compression, fault } => {
                write!(f, "{location}: expected {compression} data, found {fault}")
            }
            Self::Stopped { path } => write!(f, "{}: stopped as asked", path.display()),
            Self::Foreign { path, what, instead } | Self::Unsupported { path, what, instead } => {
                write!(f, "{}: this is {what}, which cannot be read: {instead}", path.display())
            }
            Self::Rlp { location, what, source } => write!(f, "{location}: {what}: {source}"),
            Self::TooLarge { location, what, limit, announced } => {
                write!(f, "{location}: {what}: expected at most {limit} bytes, found {announced}")
            }
            Self::Gap { expected, found, before, location } => {
                write!(f, "{location}: expected block {expected} after ")?;
                match before.as_os_str().is_empty() {
                    true => write!(f, "block {}", expected.saturating_sub(1))?,
                    false => write!(f, "the last one of {}", before.display())?,
                }
                write!(f, ", found block {found}")
            }
            Self::Repeated { number, expected, found, before, location } => {
                let body =
                    if expected == found { " with the same header, another body" } else { "" };
                write!(f, "{location}: block {number} comes again and is another one: expected ")?;
                write!(f, "{} as at {before}, found {}{body}", Hex(&expected[..]), Hex(&found[..]))
            }
            Self::Store { source, .. } => source.fmt(f),
            Self::UnknownFormat { path, found } => {
                let any = format::any_of_them();
                write!(f, "{}: expected {any}, found {found}", path.display())
            }
            Self::Mixed { first, expected, second, found } => {
                write!(f, "{}: expected more of the archive ", second.display())?;
                write!(f, "{} ({expected}), found another ({found})", first.display())
            }
            Self::Special { path, found } => {
                write!(f, "{}: expected a file, a folder or a pipe, found {found}", path.display())
            }
            Self::Unwritable { path, expected, found } => {
                write!(f, "{}: expected {expected}, found {found}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Rlp { source, .. } => Some(source),
            Self::Store { source, .. } => source.source(),
            _ => None,
        }
    }
}
