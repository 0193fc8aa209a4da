//! The config file: the flags of each command under its name, in TOML.
//!
//! ```toml
//! [import]
//! data = "/srv/blockmill"
//! seal = "1/1000"
//! with = ["hash=single"]
//! ```
//!
//! Its flags are put before those of the command line, so the command line wins. One file serves
//! both programs: `[bench]` has the flags of `blockmill-bench`, which checks and takes them itself.

use crate::documents;
use crate::paths::is_there;
use anyhow::{Context, Result, bail};
use clap::Command;
use std::ffi::OsString;
use std::path::PathBuf;
use toml::{Table, Value};

/// Read when `--config` is not given.
const DEFAULT: &str = "blockmill.toml";

/// The section of the program `blockmill-bench`.
const BENCH: &str = "bench";

/// The command line of `command` with the flags of the config file in it. The section `unnamed` has
/// those for a command line without the name of a command.
pub fn with_config(
    args: Vec<OsString>,
    mut command: Command,
    unnamed: &str,
) -> Result<Vec<OsString>> {
    let Some(path) = config_path(&args)? else { return Ok(args) };
    let text = documents::read_text(&path).context("--config")?;
    let table: Table =
        text.parse().with_context(|| format!("{}: not valid TOML", path.display()))?;
    let shown = || path.display().to_string();
    // hands the global flags down
    command.build();
    check_sections(&command, &table, unnamed).with_context(shown)?;
    insert(args, &table, &command, unnamed).with_context(shown)
}

/// Checks the sections of this program, and that there are no others.
fn check_sections(command: &Command, table: &Table, unnamed: &str) -> Result<()> {
    for (name, value) in table {
        let one = Table::from_iter([(name.clone(), value.clone())]);
        match value {
            Value::Table(own) if name == unnamed => check(command, own, name)?,
            // of the other program, which checks it
            Value::Table(_) if name == BENCH => {}
            Value::Table(_) if !unnamed.is_empty() && command.find_subcommand(name).is_none() => {}
            _ => check(command, &one, "")?,
        }
    }
    Ok(())
}

/// A name that no command and no flag has would be passed over in silence otherwise.
fn check(command: &Command, table: &Table, section: &str) -> Result<()> {
    for (name, value) in table {
        let path = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        if let Value::Table(inner) = value {
            let Some(below) = command.find_subcommand(name) else {
                bail!("[{path}]: expected the name of a command, found none of that name");
            };
            check(below, inner, &path)?;
            continue;
        }
        let mut flags = command.get_arguments().filter_map(|flag| flag.get_long());
        if section.is_empty() || !flags.any(|flag| flag == name) {
            let place = if section.is_empty() { "outside of all sections" } else { section };
            bail!("{name}: expected a flag of a command, found none of that name ({place})");
        }
    }
    Ok(())
}

fn config_path(args: &[OsString]) -> Result<Option<PathBuf>> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--config") => return Ok(args.next().map(PathBuf::from)),
            Some(arg) if arg.starts_with("--config=") => return Ok(Some(arg[9..].into())),
            _ => {}
        }
    }
    let default = PathBuf::from(DEFAULT);
    Ok(is_there(&default)?.then_some(default))
}

/// Puts the flags of `table` for the command that `args` name after the command's words; those of
/// the section `unnamed` after the program, if `args` name no command.
fn insert(
    args: Vec<OsString>,
    table: &Table,
    mut command: &Command,
    unnamed: &str,
) -> Result<Vec<OsString>> {
    let mut section = table;
    let mut words = 0;
    let mut is_value = false;
    for (i, arg) in args.iter().enumerate().skip(1) {
        let Some(name) = arg.to_str() else { break };
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = words == 0 && ["--config", "--log"].contains(&name);
        let below = command.find_subcommand(name).filter(|_| name != BENCH);
        match (section.get(name), below) {
            (Some(Value::Table(inner)), Some(below)) => {
                (section, command) = (inner, below);
                words = i;
            }
            // a command without a section
            (None, Some(_)) if words == 0 => return Ok(args),
            _ if words > 0 || !name.starts_with('-') => break,
            _ => {}
        }
    }
    if words == 0 {
        let Some(Value::Table(own)) = table.get(unnamed) else { return Ok(args) };
        section = own;
    }
    let mut flags = vec![];
    for (name, value) in section {
        push_flag(&mut flags, name, value)?;
    }
    let (head, tail) = args.split_at(words + 1);
    Ok(head.iter().cloned().chain(flags).chain(tail.iter().cloned()).collect())
}

fn push_flag(flags: &mut Vec<OsString>, name: &str, value: &Value) -> Result<()> {
    let text = match value {
        Value::Table(_) => return Ok(()), // a command below this one
        Value::Boolean(false) => return Ok(()),
        Value::Boolean(true) => {
            flags.push(format!("--{name}").into());
            return Ok(());
        }
        Value::Array(values) => {
            return values.iter().try_for_each(|value| push_flag(flags, name, value));
        }
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        other => bail!("{name}: expected a string, a number, true, false or a list, found {other}"),
    };
    flags.push(format!("--{name}={text}").into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{Arg, ArgAction, CommandFactory};

    /// The command line of this program, and the name of what it does without a command.
    fn product() -> (Command, &'static str) {
        let mut command = Cli::command();
        command.build();
        (command, "")
    }

    /// One like that of `blockmill-bench`.
    fn bench() -> (Command, &'static str) {
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        let report = Command::new("report").arg(flag("force"));
        let command = Command::new("blockmill-bench").args([flag("ladder"), flag("peers")]);
        (command.subcommand(report), "bench")
    }

    fn inserted_for(
        (command, unnamed): (Command, &str),
        args: &[&str],
        table: &str,
    ) -> Vec<String> {
        let args = args.iter().map(OsString::from).collect();
        let args = insert(args, &table.parse().unwrap(), &command, unnamed).unwrap();
        args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
    }

    fn inserted(args: &[&str], table: &str) -> Vec<String> {
        inserted_for(product(), args, table)
    }

    const TABLE: &str = r#"
        [import]
        data = "d"
        threads = 2
        with = ["a=b", "c=d"]
        [bench]
        ladder = true
        peers = false
    "#;

    #[test]
    fn flags_of_the_command_come_before_those_of_the_command_line() {
        assert_eq!(
            inserted(&["blockmill", "import", "x", "--data", "e"], TABLE),
            [
                "blockmill",
                "import",
                "--data=d",
                "--threads=2",
                "--with=a=b",
                "--with=c=d",
                "x",
                "--data",
                "e"
            ],
        );
        assert_eq!(
            inserted(&["blockmill", "--log", "import", "import", "x"], "[import]\ndata = 'd'"),
            ["blockmill", "--log", "import", "import", "--data=d", "x"],
        );
    }

    #[test]
    fn the_section_bench_has_the_flags_of_the_other_program() {
        let args = ["blockmill", "--json", "bench", "headers", "--pairs=1"];
        assert_eq!(inserted(&args, TABLE), args, "the other program reads the file itself");
        let table = format!("{TABLE}\n[report]\nforce = true");
        for (args, expected) in [
            (
                &["blockmill-bench", "import", "--json"][..],
                &["blockmill-bench", "--ladder", "import", "--json"][..],
            ),
            (&["blockmill-bench", "report", "x"], &["blockmill-bench", "report", "--force", "x"]),
        ] {
            assert_eq!(inserted_for(bench(), args, &table), expected);
        }
    }

    #[test]
    fn other_commands_are_left_alone() {
        let args = ["blockmill", "inspect", "import"];
        assert_eq!(inserted(&args, TABLE), args);
    }

    #[test]
    fn names_that_no_command_and_no_flag_has_are_errors() {
        let verdict = |(command, unnamed): (Command, &str), table: &str| {
            check_sections(&command, &table.parse().unwrap(), unnamed)
        };
        let good = "[import]\nseal = 'off'\ncache = 100\njson = true\n[bench]\nladder = true";
        verdict(product(), good).unwrap();
        verdict(bench(), good).unwrap();
        for (program, table, words) in [
            (product(), "[import]\nseals = 'off'", "seals: expected a flag"),
            (product(), "[imports]\nseal = 'off'", "[imports]: expected the name of a command"),
            (product(), "seal = 'off'", "outside of all sections"),
            (bench(), "[bench]\nruns = 2", "runs: expected a flag"),
            (bench(), "[report]\nruns = 2", "runs: expected a flag"),
            (bench(), "ladder = true", "outside of all sections"),
        ] {
            let error = verdict(program, table).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn values_that_are_no_flags_are_errors() {
        let table = "[import]\ndata = 1.5".parse().unwrap();
        let (command, unnamed) = product();
        let args = vec!["blockmill".into(), "import".into()];
        assert!(insert(args, &table, &command, unnamed).is_err());
    }
}
