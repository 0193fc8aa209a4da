//! Holes of sparse files. On systems without holes, or without information on them, zeros are read.

use std::fs::File;

/// Whether the operating system supports holes and reports them.
pub const ARE_KNOWN: bool = cfg!(target_os = "linux");

/// Returns the offset of the next bytes at or after `offset` that are not part of a hole; `length`,
/// the length of the file, if only a hole follows. The result is at least `offset`, and at most
/// `length` if `offset` is not beyond it. The position of the file may change.
pub fn end_of_hole(file: &File, offset: u64, length: u64) -> u64 {
    next_data(file, offset, length).map_or(offset, |next| next.min(length).max(offset))
}

#[cfg(target_os = "linux")]
fn next_data(file: &File, offset: u64, length: u64) -> Option<u64> {
    use nix::errno::Errno;
    use nix::unistd::{Whence, lseek64};
    match lseek64(file, offset.try_into().ok()?, Whence::SeekData) {
        Ok(next) => next.try_into().ok(),
        // no data after it
        Err(Errno::ENXIO) => Some(length),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn next_data(_: &File, _: u64, _: u64) -> Option<u64> {
    None
}

/// Makes a hole of these bytes, which are read no more: the system gets their room back, and the
/// file keeps its length. Where there are no holes nothing happens. Nothing is lost if it fails.
#[cfg(target_os = "linux")]
pub fn punch(file: &File, offset: u64, length: u64) {
    use nix::fcntl::{FallocateFlags, fallocate};
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    if let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) {
        let _ = fallocate(file, flags, offset, length);
    }
}

/// Elsewhere the room stays taken.
#[cfg(not(target_os = "linux"))]
pub fn punch(_: &File, _: u64, _: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_hole_ends_where_bytes_begin_or_the_file_does() {
        let path = std::env::temp_dir().join(format!("blockmill-holes-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"bytes", 32 << 20).unwrap();
        let end = |offset| end_of_hole(&file, offset, 64 << 20);
        // without information on holes each ends where it begins
        assert!((1 << 20..=32 << 20).contains(&end(1 << 20)));
        assert_eq!(end((32 << 20) + 2), (32 << 20) + 2);
        assert!((40 << 20..=64 << 20).contains(&end(40 << 20)));
        assert_eq!(end(70 << 20), 70 << 20);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_punched_hole_gives_room_back_and_keeps_the_length() {
        let path = std::env::temp_dir().join(format!("blockmill-punched-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let room = || file.metadata().unwrap().blocks();
        let before = room();
        punch(&file, 0, 900_000);
        assert!(!ARE_KNOWN || room() * 4 < before, "{} of {before}", room());
        let mut bytes = vec![0; 1 << 20];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes[900_000..].iter().all(|byte| *byte == 7));
        std::fs::remove_file(path).unwrap();
    }
}
