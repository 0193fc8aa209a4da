//! Reads through io_uring.

#![allow(unsafe_code)]

use std::{fmt, io, os::fd::AsRawFd, sync::Arc};

use io_uring::{IoUring, opcode, types::Fd};

use super::{DEPTH, Wanted, room};

/// A queue of reads that the kernel works on.
pub struct Ring(IoUring);

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ring").finish()
    }
}

impl Ring {
    /// A ring for `depth` concurrent reads; `None` if the system has no io_uring.
    pub fn new(depth: usize) -> Option<Self> {
        IoUring::new(depth as u32).ok().map(Self)
    }

    /// Reads all of `wanted`, in the same order; short reads are `None`. Returns `None` if a file
    /// is not a file of the operating system, or if the ring failed: it must not be used any more
    /// then.
    pub fn read(&mut self, wanted: &[Wanted]) -> Option<Vec<Option<Arc<[u8]>>>> {
        let files: Option<Vec<_>> = wanted.iter().map(|w| w.file.of_system()).collect();
        let files = files?;
        let mut found: Vec<Arc<[u8]>> = wanted.iter().map(|w| room(w.bytes)).collect();
        let mut results = vec![0; wanted.len()];
        let (mut next, mut flying) = (0, 0);
        while next < wanted.len() || flying > 0 {
            let mut queue = self.0.submission();
            while flying < DEPTH && next < wanted.len() {
                let file = Fd(files[next].as_raw_fd());
                let out = Arc::make_mut(&mut found[next]);
                let read = opcode::Read::new(file, out.as_mut_ptr(), out.len() as u32);
                let read = read.offset(wanted[next].offset).build().user_data(next as u64);
                // SAFETY: the buffer and the open file live until the kernel reports the
                // completion: this function returns when no read is in flight, or leaks the buffers
                // below
                if unsafe { queue.push(&read) }.is_err() {
                    break;
                }
                (next, flying) = (next + 1, flying + 1);
            }
            drop(queue);
            // several at a time, as each call costs
            let enough = if next < wanted.len() { flying.div_ceil(4) } else { flying };
            match self.0.submit_and_wait(enough) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    // the kernel may still write there, and read from these files
                    std::mem::forget(found);
                    std::mem::forget(wanted.to_vec());
                    return None;
                }
                _ => {}
            }
            for done in self.0.completion() {
                flying -= 1;
                if let Some(result) = results.get_mut(done.user_data() as usize) {
                    *result = done.result();
                }
            }
        }
        let whole = |(bytes, result): (Arc<[u8]>, i32)| {
            (usize::try_from(result) == Ok(bytes.len())).then_some(bytes)
        };
        Some(found.into_iter().zip(results).map(whole).collect())
    }
}
