//! Handles aborts of the C library without memory. It cannot return an error when it registers the
//! destructors of a new thread, so it aborts.

#[cfg(target_os = "linux")]
pub use linux::when_memory_is_out;

/// Registers `handler` for aborts without memory. Does nothing on systems other than Linux.
#[cfg(not(target_os = "linux"))]
pub fn when_memory_is_out(_: fn() -> !) {}

#[cfg(target_os = "linux")]
mod linux {
    #![allow(unsafe_code)]

    use nix::libc::c_int;
    use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    use std::num::NonZeroUsize;
    use std::sync::OnceLock;

    /// Less than the C library takes from the system at once when its heap must grow.
    const LITTLE: NonZeroUsize = NonZeroUsize::MIN.saturating_add((128 << 10) - 1);

    static HANDLER: OnceLock<fn() -> !> = OnceLock::new();

    /// Registers `handler` for aborts without memory. It is called in the aborting thread, whatever
    /// locks that has. Other aborts end the process as usual. Only the first call has an effect.
    pub fn when_memory_is_out(handler: fn() -> !) {
        if HANDLER.set(handler).is_err() {
            return;
        }
        let handler = SigHandler::Handler(aborted);
        let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler requests memory from the system and takes no lock. It returns only if
        // the signal then ends the process.
        let _ = unsafe { sigaction(Signal::SIGABRT, &action) };
    }

    extern "C" fn aborted(_: c_int) {
        if let Some(handler) = HANDLER.get().filter(|_| !is_there_a_little()) {
            handler();
        }
    }

    fn is_there_a_little() -> bool {
        let (protection, flags) = (ProtFlags::PROT_READ, MapFlags::MAP_PRIVATE);
        // SAFETY: the system chooses an unused address.
        let Ok(mapped) = (unsafe { mmap_anonymous(None, LITTLE, protection, flags) }) else {
            return false;
        };
        // SAFETY: it was just mapped, and nothing else refers to it.
        let _ = unsafe { munmap(mapped, LITTLE.get()) };
        true
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::when_memory_is_out;
    use std::io::Result;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus, abort, exit};

    const IS_CHILD: &str = "BLOCKMILL_TEST_ABORTS";

    /// This test again in a process of its own, under a limit of memory, so that it aborts.
    fn ended(is_memory_out: bool) -> Result<ExitStatus> {
        let program = std::env::current_exe()?;
        let script = "ulimit -c 0; ulimit -v 300000; exec \"$0\" --exact --nocapture \
                      abort::tests::an_abort_without_memory_is_reported_others_end_the_process";
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(program);
        command.env(IS_CHILD, if is_memory_out { "out" } else { "there" });
        Ok(command.output()?.status)
    }

    fn abort_as_a_child(is_memory_out: bool) -> ! {
        when_memory_is_out(|| exit(5));
        let mut kept = Vec::with_capacity(64);
        for bits in (10..30).rev() {
            let mut more = Vec::<u8>::new();
            while is_memory_out && more.try_reserve_exact(1 << bits).is_ok() {
                kept.push(std::mem::take(&mut more));
                if kept.len() == kept.capacity() {
                    break;
                }
            }
        }
        abort()
    }

    #[test]
    fn an_abort_without_memory_is_reported_others_end_the_process() -> Result<()> {
        if let Ok(child) = std::env::var(IS_CHILD) {
            abort_as_a_child(child == "out");
        }
        assert_eq!(ended(true)?.code(), Some(5));
        assert_eq!(ended(false)?.signal(), Some(6));
        Ok(())
    }
}
