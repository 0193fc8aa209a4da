//! Holes of sparse files. Where the system does not tell, there are none, and zeros are read.

use std::fs::File;

/// Where the next bytes stand from `offset` on that are not part of a hole; `length`, that of the
/// file, where only a hole follows. Not less than `offset`, and not more than `length` where that
/// is not before it. The file's own position may change.
pub fn end_of_hole(file: &File, offset: u64, length: u64) -> u64 {
    next_data(file, offset, length).map_or(offset, |next| next.min(length).max(offset))
}

#[cfg(target_os = "linux")]
fn next_data(file: &File, offset: u64, length: u64) -> Option<u64> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek64};
    match lseek64(file, offset.try_into().ok()?, Whence::SeekData) {
        Ok(next) => next.try_into().ok(),
        // no data behind it
        Err(Errno::ENXIO) => Some(length),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn next_data(_: &File, _: u64, _: u64) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_hole_ends_where_bytes_begin_or_the_file_does() {
        let path = std::env::temp_dir().join(format!("blockmill-holes-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"bytes", 32 << 20).unwrap();
        let end = |offset| end_of_hole(&file, offset, 64 << 20);
        // where holes are not known each begins where it ends
        assert!((1 << 20..=32 << 20).contains(&end(1 << 20)));
        assert_eq!(end((32 << 20) + 2), (32 << 20) + 2);
        assert!((40 << 20..=64 << 20).contains(&end(40 << 20)));
        assert_eq!(end(70 << 20), 70 << 20);
        std::fs::remove_file(path).unwrap();
    }
}
