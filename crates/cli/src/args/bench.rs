//! Flags of `bench`, which starts the program `blockmill-bench`: that program reads them, and both
//! have them in their completions and manuals.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use std::path::PathBuf;
use std::time::Duration;

/// The default of `--disturbed`.
pub const DISTURBED: &str = "5%";
/// The default of `--seed`.
pub const SEED: u64 = 1;
/// The default of `--benchmarks`.
pub const BENCHMARKS: &str = "benchmarks";

/// The definitions of this repository, by name.
const NAMES: &[&str] = include!(concat!(env!("OUT_DIR"), "/benchmarks.rs"));

/// What `bench` measures, and how.
#[derive(Args, Clone, Debug)]
pub struct Bench {
    /// What to measure: names that --list shows, or `all`; none to show them
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show what can be measured; with names, their settings, steps, options and cost
    #[arg(long)]
    pub list: bool,
    /// A first look: less data, at most 30 s for a comparison, ratios to within 10%
    #[arg(long)]
    pub quick: bool,
    /// Measure only these steps, options, values or peers, and what they are compared with
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Compare each step of the ladder with the one before
    #[arg(long)]
    pub ladder: bool,
    /// Change each option from the default, and set each to its default from the plainest options
    #[arg(long)]
    pub ablate: bool,
    /// Measure the default over the values of a setting; with --peers, compare at each value
    #[arg(long, value_name = "SETTING")]
    pub sweep: Vec<String>,
    /// Compare with other programs, which benchmarks/peers.toml names
    #[arg(long)]
    pub peers: bool,
    /// Compare the program as of these git revisions, ranges of them (`A..B`: A and every commit
    /// after it up to B), or `.` for this program; the first is the baseline
    #[arg(long, num_args = 1.., value_name = "REVISION")]
    pub history: Vec<String>,
    /// Compare this program with that of a git revision, write `comment.md` for a pull request, and
    /// fail if it is slower; with --instructions, fail if there are more than were recorded
    #[arg(long, value_name = "REVISION")]
    #[arg(conflicts_with_all = ["ladder", "ablate", "sweep", "peers", "history"])]
    pub check: Option<String>,
    /// Count instructions with valgrind instead of measuring time, and compare with the record
    #[arg(long, conflicts_with_all = ["ladder", "ablate", "sweep", "peers", "history"])]
    pub instructions: bool,
    /// Change a setting of the definition, such as headers=100000
    #[arg(long, value_name = "SETTING=VALUE")]
    pub set: Vec<String>,
    /// Stop when a ratio is known to within this share [default: 2%, of all 10%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// How long all runs may take, such as 90s or 10m [default: the budgets of the definitions]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub budget: Option<Duration>,
    /// Take this many pairs of runs, rounded up to an even number, regardless of precision and time
    #[arg(long, value_name = "N", conflicts_with = "budget")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: Option<u32>,
    /// A run is disturbed when others take more than this share of the machine
    #[arg(long, value_name = "PERCENT", default_value = DISTURBED, value_parser = percent)]
    pub disturbed: f64,
    /// Chooses the order of runs
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
    /// Folder for the record, the tables and the page
    #[arg(long, default_value = "blockmill-report/bench", value_name = "DIR")]
    pub out: PathBuf,
    /// Folder for data, which is kept, and for what runs write [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Folder of peers.toml and of further definitions
    #[arg(long, default_value = BENCHMARKS, value_name = "DIR")]
    pub benchmarks: PathBuf,
    /// One run, for the process that compares
    #[arg(long, hide = true, value_name = "FILE")]
    pub job: Option<PathBuf>,
}

/// `command`, which has the flags of [`Bench`], with the names of all definitions: for completions
/// and the manual. A user can have further definitions.
#[must_use]
pub fn with_names(command: Command) -> Command {
    let names = std::iter::once("all").chain(NAMES.iter().copied());
    command.mut_arg("names", |arg| arg.value_parser(PossibleValuesParser::new(names)))
}

/// A share such as `2%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.map(|number| number / 100.0).filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("expected 0% to 100%, found {text}"))
}

/// A share as the flag takes it: `2%`.
#[must_use]
pub fn in_percent(share: f64) -> String {
    format!("{}%", (share * 1e5).round() / 1e3)
}

/// A time such as `90s`, `10m` or `1h`.
fn time(text: &str) -> Result<Duration, String> {
    let known = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let seconds = known.iter().find_map(|(unit, seconds)| {
        text.strip_suffix(unit)?.trim().parse::<f64>().ok().map(|number| number * seconds)
    });
    let sound = seconds.filter(|seconds| (0.0..1e9).contains(seconds));
    let sound = sound.ok_or_else(|| format!("expected a time such as 90s or 10m, found {text}"))?;
    Ok(Duration::from_secs_f64(sound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_definitions_are_named() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/definitions");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(names, NAMES);
    }

    #[test]
    fn shares_and_times_have_units() {
        assert_eq!((percent("2%"), percent("0.5 %")), (Ok(0.02), Ok(0.005)));
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        for wrong in ["2", "-1%", "101%", "NaN%", "%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10", "-1s", "m", "infs"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
