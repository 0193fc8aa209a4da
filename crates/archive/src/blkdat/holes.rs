//! Holes of sparse files: the one place here that asks a system for more than POSIX has. Where it
//! does not tell, there are no holes, and zeros are read.

use std::fs::File;

/// Where the next bytes stand from `offset` on that are not part of a hole; `length`, that of the
/// file, where only a hole follows. Not less than `offset`.
pub(super) fn end_of_hole(file: &File, offset: u64, length: u64) -> u64 {
    os::next_data(file, offset, length).map_or(offset, |next| next.clamp(offset, length))
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
mod os {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek};
    use std::fs::File;

    pub fn next_data(file: &File, offset: u64, length: u64) -> Option<u64> {
        // the position of the file is nobody's: all reads are positioned
        match lseek(file, i64::try_from(offset).ok()?, Whence::SeekData) {
            Ok(next) => u64::try_from(next).ok(),
            Err(Errno::ENXIO) => Some(length),
            Err(_) => None,
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
mod os {
    use std::fs::File;

    pub fn next_data(_: &File, _: u64, _: u64) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_hole_ends_where_bytes_begin_or_the_file_does() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"bytes", 32 << 20).unwrap();
        let ends = [0, 1 << 20, 32 << 20, 40 << 20].map(|at| end_of_hole(&file, at, 64 << 20));
        // a system that knows no holes says that each begins where it ends
        let limits = [32 << 20, 32 << 20, 32 << 20, 64 << 20];
        for (at, (end, limit)) in
            [0, 1 << 20, 32 << 20, 40 << 20].into_iter().zip(ends.into_iter().zip(limits))
        {
            assert!((at..=limit).contains(&end), "{at}: {end}");
        }
        #[cfg(target_os = "linux")]
        assert!(ends[0] > 31 << 20 && ends[3] == 64 << 20, "{ends:?}");
    }
}
