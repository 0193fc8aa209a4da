//! How far a run has come: a bar on a terminal, plain lines otherwise.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How far a run of any chain has come.
pub struct Progress {
    /// The last block that was verified.
    pub number: u64,
    /// Blocks so far.
    pub blocks: u64,
    /// Bytes read so far.
    pub bytes: u64,
}

/// Shows progress on standard error.
pub struct Display {
    bar: Option<ProgressBar>,
    total_bytes: u64,
    started: Instant,
    next_line: Duration,
    quiet: bool,
    /// What the bar says when the index is made; none when there is no index to make.
    after_index: Option<String>,
}

/// Bytes of block files whose index takes long enough to tell people who have no terminal.
const BIG: u64 = 1 << 30;

impl Display {
    /// For an archive of `total_bytes`, verified at `level`.
    pub fn new(total_bytes: u64, level: &str, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let draw = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(Some(total_bytes), draw);
            bar.set_style(style("{prefix} {bar:32} {percent:>3}%  {msg}  ETA {eta}"));
            bar.set_prefix(format!("verifying {level}"));
            bar
        });
        let started = Instant::now();
        Self { bar, total_bytes, started, next_line: LINE_EVERY, quiet, after_index: None }
    }

    /// For block files, whose headers are indexed before anything else.
    pub fn indexing(files: usize, total_bytes: u64, level: &str, quiet: bool) -> Self {
        let mut display = Self::new(total_bytes, level, quiet);
        let s = if files == 1 { "" } else { "s" };
        let what = format!("{files} block file{s}, {}", report::bytes(total_bytes));
        if let Some(bar) = &display.bar {
            bar.set_style(style("{spinner} indexing {msg}  {elapsed}"));
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
        } else if !quiet && total_bytes >= BIG {
            eprintln!("indexing {what}");
        }
        let verb = if level == "execution" { "connecting" } else { "checking bodies" };
        display.after_index = Some(verb.to_owned());
        display
    }

    /// The index is made: from now on time is counted for blocks.
    fn begin_blocks(&mut self) {
        let Some(verb) = self.after_index.take() else { return };
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            bar.set_style(style("{prefix} {bar:32} {percent:>3}%  {msg}  ETA {eta}"));
            bar.set_prefix(verb);
            bar.reset_eta();
        }
        self.started = Instant::now();
    }

    /// Takes note of one more chunk.
    pub fn update(&mut self, progress: &Progress) {
        self.begin_blocks();
        let elapsed = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.set_position(progress.bytes.min(self.total_bytes));
            bar.set_message(message(progress, elapsed));
        } else if !self.quiet && elapsed >= self.next_line {
            self.next_line = elapsed + LINE_EVERY;
            let percent = 100 * progress.bytes / self.total_bytes.max(1);
            let left = self.time_left(progress, elapsed);
            eprintln!("{percent:>3}%  {}  about {} s left", message(progress, elapsed), left);
        }
    }

    /// Seconds until the end at the rate so far.
    fn time_left(&self, progress: &Progress, elapsed: Duration) -> u64 {
        let rate = progress.bytes as f64 / elapsed.as_secs_f64().max(1e-9);
        (self.total_bytes.saturating_sub(progress.bytes) as f64 / rate.max(1.0)) as u64
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─")
}

fn message(progress: &Progress, elapsed: Duration) -> String {
    let rate = progress.blocks as f64 / elapsed.as_secs_f64().max(1e-9);
    format!("block {}, {} blocks/s", grouped(progress.number), grouped(rate as u64))
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
