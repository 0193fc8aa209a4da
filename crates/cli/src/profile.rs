//! Samples of where a run's CPU time goes, for the flame graph of its page.
//!
//! The kernel's timer of CPU time interrupts whichever thread runs, and its stack is noted; the
//! names are found at the end.

use anyhow::Result;
use blockmill_pipeline::record::Profile;

/// There is none on this system, or in this program.
#[cfg(not(all(target_os = "linux", feature = "pprof")))]
pub struct Profiler;

#[cfg(not(all(target_os = "linux", feature = "pprof")))]
impl Profiler {
    /// Refuses to start.
    ///
    /// # Errors
    /// The system has no such timer, or the program was built without the feature `pprof`.
    pub fn start() -> Result<Self> {
        anyhow::ensure!(cfg!(target_os = "linux"), "--profile works on Linux only");
        crate::absent::absent("pprof")
    }

    /// Nothing was sampled.
    pub fn stop(self) -> Result<Profile> {
        Ok(Profile::default())
    }
}

/// Samples this process until it is stopped.
#[cfg(all(target_os = "linux", feature = "pprof"))]
pub struct Profiler(pprof::ProfilerGuard<'static>);

#[cfg(all(target_os = "linux", feature = "pprof"))]
impl Profiler {
    /// Samples in a second of CPU time: no round number, or it would keep time with what is done
    /// a thousand times a second.
    const HERTZ: u32 = 997;

    /// Begins.
    ///
    /// # Errors
    /// When the system gives no timer.
    pub fn start() -> Result<Self> {
        let guard = pprof::ProfilerGuardBuilder::default().frequency(Self::HERTZ as i32).build()?;
        Ok(Self(guard))
    }

    /// Ends, and gives what was found.
    ///
    /// # Errors
    /// When the samples cannot be read.
    pub fn stop(self) -> Result<Profile> {
        let report = self.0.report().build()?;
        let stacks = report.data.iter().map(|(stack, samples)| {
            // the innermost first, and inlined functions within each
            let symbols = stack.frames.iter().rev().flat_map(|frame| frame.iter().rev());
            let names: Vec<String> = symbols.map(|symbol| symbol.name()).collect();
            (names, u64::try_from(*samples).unwrap_or_default())
        });
        Ok(Profile::from_stacks(Self::HERTZ, stacks))
    }
}
