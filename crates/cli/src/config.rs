//! The config file: the flags of each command under its name, in TOML.
//!
//! ```toml
//! [import]
//! data = "/srv/blockmill"
//! seal = "1/1000"
//! with = ["hash=single"]
//! ```
//!
//! Its flags are put before those of the command line, so the command line wins.

use crate::args::Cli;
use crate::documents;
use crate::paths::is_there;
use anyhow::{Context, Result, bail};
use clap::{Command, CommandFactory};
use std::ffi::OsString;
use std::path::PathBuf;
use toml::{Table, Value};

/// Read when `--config` is not given.
const DEFAULT: &str = "blockmill.toml";

/// The command line with the flags of the config file in it.
pub fn with_config(args: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(path) = config_path(&args)? else { return Ok(args) };
    let text = documents::read_text(&path).context("--config")?;
    let table: Table =
        text.parse().with_context(|| format!("{}: not valid TOML", path.display()))?;
    let shown = || path.display().to_string();
    let mut command = Cli::command();
    // hands the global flags down
    command.build();
    check(&command, &table, "").with_context(shown)?;
    insert(args, &table).with_context(shown)
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

/// Puts the flags of `table` for the command that `args` name behind the command's words.
fn insert(args: Vec<OsString>, table: &Table) -> Result<Vec<OsString>> {
    let mut section = table;
    let mut words = 0;
    for (i, arg) in args.iter().enumerate().skip(1) {
        let Some(name) = arg.to_str() else { break };
        match section.get(name) {
            Some(Value::Table(inner)) => {
                section = inner;
                words = i;
            }
            _ if words > 0 || !name.starts_with('-') => break,
            _ => {}
        }
    }
    if words == 0 {
        return Ok(args);
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

    fn inserted(args: &[&str], table: &str) -> Vec<String> {
        let args = args.iter().map(OsString::from).collect();
        let args = insert(args, &table.parse().unwrap()).unwrap();
        args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
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
            inserted(&["blockmill", "--json", "bench", "headers", "--pairs=1"], TABLE),
            ["blockmill", "--json", "bench", "--ladder", "headers", "--pairs=1"],
        );
    }

    #[test]
    fn other_commands_are_left_alone() {
        let args = ["blockmill", "inspect", "import"];
        assert_eq!(inserted(&args, TABLE), args);
    }

    #[test]
    fn names_that_no_command_and_no_flag_has_are_errors() {
        let mut command = Cli::command();
        command.build();
        let verdict = |table: &str| check(&command, &table.parse().unwrap(), "");
        verdict("[import]\nseal = 'off'\ncache = 100\njson = true\n[bench]\npairs = 2").unwrap();
        for (table, words) in [
            ("[import]\nseals = 'off'", "seals: expected a flag"),
            ("[imports]\nseal = 'off'", "[imports]: expected the name of a command"),
            ("[bench]\nruns = 2", "runs: expected a flag"),
            ("seal = 'off'", "outside of all sections"),
        ] {
            let error = verdict(table).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn values_that_are_no_flags_are_errors() {
        let table = "[import]\ndata = 1.5".parse().unwrap();
        assert!(insert(vec!["blockmill".into(), "import".into()], &table).is_err());
    }
}
