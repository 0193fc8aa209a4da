//! How far a run has come: a bar on a terminal, plain lines otherwise.

use crate::log;
use crate::print::{self, Detail};
use crate::stop;
use blockmill_pipeline::live::Live;
use blockmill_verdict::{Progress, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows progress on standard error.
pub struct Display {
    bar: Option<ProgressBar>,
    total_bytes: u64,
    /// What was done of them.
    bytes: u64,
    started: Instant,
    /// What was done when the time began: all figures are of what came after.
    done: (u64, u64),
    next_line: Duration,
    quiet: bool,
    /// The text of the bar after the index is built; `None` if there is no index to build.
    after_index: Option<&'static str>,
}

/// What a bar looks like while blocks go by.
const BLOCKS: &str = "{prefix} {bar:32} {percent:>3}%  {wide_msg}";
/// The template for terminals that are too narrow for it.
const NARROW: &str = "{percent:>3}%  {wide_msg}";
/// Columns that [`BLOCKS`] needs, with a message of usual length.
const WIDE: u16 = 100;
/// And while block files are indexed.
#[cfg(feature = "bitcoin")]
const INDEX: &str = "{spinner} indexing {elapsed} {wide_msg}";
/// Bytes of block files whose index takes long enough for a message without a terminal.
#[cfg(feature = "bitcoin")]
const BIG: u64 = 1 << 30;
/// No rate is shown before.
const LEAST_TIME: Duration = Duration::from_millis(100);

impl Display {
    /// For an archive of `total_bytes`, verified at `level`.
    #[cfg(any(feature = "ethereum", feature = "neo"))]
    pub fn new(total_bytes: u64, level: &str, quiet: bool) -> Self {
        Self::with(total_bytes, blocks_template(), format!("verifying {level}"), quiet)
    }

    /// Shows the progress that `work` reports, here and to whoever looks at `live`, and removes the
    /// bar. The bytes that are left then are noted for a message about a full disk.
    pub fn watch<T>(
        mut self,
        live: &Live,
        work: impl FnOnce(&mut (dyn FnMut(&Progress) + Send)) -> T,
    ) -> T {
        let total = self.total_bytes;
        let ended = work(&mut |progress: &Progress| {
            live.progress(progress);
            self.update(progress);
        });
        self.finish();
        stop::still_to_come(total.saturating_sub(self.bytes));
        ended
    }

    /// A display for block files, whose headers are indexed first.
    #[cfg(feature = "bitcoin")]
    pub fn indexing(files: usize, total_bytes: u64, level: &str, quiet: bool) -> Self {
        let mut display = Self::with(total_bytes, INDEX, String::new(), quiet);
        let files = blockmill_report::counted(files as u64, "block file");
        let what = format!("{files}, {}", blockmill_report::bytes(total_bytes));
        if let Some(bar) = &display.bar {
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
        } else if !quiet && total_bytes >= BIG {
            eprintln!("indexing {what}");
        }
        let verb = if level == "execution" { "connecting" } else { "checking bodies" };
        display.after_index = Some(verb);
        display
    }

    /// For a store of `total_bytes` that is read.
    pub fn reading(total_bytes: u64, quiet: bool) -> Self {
        Self::with(total_bytes, blocks_template(), "checking".into(), quiet)
    }

    /// Sets the number of bytes that were read so far.
    pub fn update_bytes(&mut self, bytes: u64) {
        let elapsed = self.started.elapsed();
        let of = blockmill_report::bytes(self.total_bytes);
        let message = format!("{} of {of}", blockmill_report::bytes(bytes.min(self.total_bytes)));
        if let Some(bar) = &self.bar {
            bar.set_position(bytes.min(self.total_bytes));
            bar.set_message(message);
        } else if !self.quiet && elapsed >= self.next_line {
            self.next_line = elapsed + LINE_EVERY;
            eprintln!("checking: {message}");
        }
    }

    fn with(total_bytes: u64, template: &str, prefix: String, quiet: bool) -> Self {
        let quiet = quiet || print::detail() == Detail::Quiet;
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let draw = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(total_bytes), draw);
            bar.with_style(style(template)).with_prefix(prefix)
        });
        let (started, next_line, after_index) = (Instant::now(), LINE_EVERY, None);
        let bytes = 0;
        Self { bar, total_bytes, bytes, started, done: (0, 0), next_line, quiet, after_index }
    }

    /// The index is built: from now on time is counted for blocks.
    fn begin_blocks(&mut self, progress: &Progress) {
        let Some(verb) = self.after_index.take() else { return };
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            bar.set_message("");
            bar.set_prefix(verb);
            bar.set_style(style(blocks_template()));
            bar.set_position(progress.bytes.min(self.total_bytes));
            bar.reset_eta();
        }
        (self.started, self.done) = (Instant::now(), (progress.blocks, progress.bytes));
    }

    /// Adds a chunk.
    pub fn update(&mut self, progress: &Progress) {
        self.bytes = progress.bytes;
        if let Some(total) = progress.total_bytes {
            self.total_bytes = total;
            if let Some(bar) = &self.bar {
                bar.set_length(total);
            }
        }
        self.begin_blocks(progress);
        let elapsed = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.set_position(progress.bytes.min(self.total_bytes));
            bar.set_message(self.message(progress, elapsed));
        }
        // a log gets the lines that a terminal does not need
        let to_log = self.bar.is_some() && log::is_open();
        if self.quiet || elapsed < self.next_line || (self.bar.is_some() && !to_log) {
            return;
        }
        self.next_line = elapsed + LINE_EVERY;
        let percent = 100 * progress.bytes / self.total_bytes.max(1);
        let line = format!("{percent:>3}%  {}", self.message(progress, elapsed));
        if to_log { log::add(&format!("{line}\n")) } else { eprintln!("{line}") }
    }

    /// The most important part comes first: a narrow terminal cuts off the rest.
    fn message(&self, progress: &Progress, elapsed: Duration) -> String {
        let block = format!("block {}", grouped(progress.number));
        if elapsed < LEAST_TIME {
            return block;
        }
        let blocks = progress.blocks.saturating_sub(self.done.0);
        let rate = grouped((blocks as f64 / elapsed.as_secs_f64()) as u64);
        let left = blockmill_report::duration(self.time_left(progress, elapsed));
        let safe = match progress.committed {
            Some(number) => format!(", {} committed", grouped(number)),
            None => String::new(),
        };
        format!("{block}, {left} left{safe}, {rate} blocks/s")
    }

    /// Seconds until the end at the rate so far.
    fn time_left(&self, progress: &Progress, elapsed: Duration) -> f64 {
        let bytes = progress.bytes.saturating_sub(self.done.1);
        let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-9);
        (self.total_bytes.saturating_sub(progress.bytes) as f64 / rate.max(1.0)).ceil()
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What fits the terminal.
fn blocks_template() -> &'static str {
    let (_, columns) = console::Term::stderr().size();
    if columns < WIDE { NARROW } else { BLOCKS }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_said_next_to_what_is_verified() {
        let display = Display::new(1_000_000, "bodies", true);
        let message = |committed| {
            let (number, blocks, bytes, total_bytes) = (12_288, 12_289, 500_000, None);
            let execution = None;
            let progress = Progress { number, blocks, bytes, total_bytes, committed, execution };
            display.message(&progress, Duration::from_secs(10))
        };
        assert_eq!(
            message(Some(10_240)),
            "block 12,288, 10.0 s left, 10,240 committed, 1,228 blocks/s"
        );
        assert!(!message(None).contains("committed"));
    }
}
