//! `peers.toml`: what a peer needs, how it is built and how it is run.

use std::collections::BTreeMap;
use std::process::Command;

use crate::definition::Settings;
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Tools by name.
    #[serde(default)]
    pub tools: BTreeMap<String, Tool>,
    /// The peers.
    #[serde(default)]
    pub peer: Vec<Entry>,
}

/// A program that must be on the machine to build a peer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Command line that prints its version.
    pub version: Vec<String>,
    /// Oldest version that will do, `major.minor`.
    pub at_least: String,
    /// How to install it.
    pub install: String,
}

/// A peer; the fields are explained at the top of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub name: String,
    pub label: String,
    pub client: String,
    pub version: String,
    pub folder: String,
    #[serde(default)]
    pub needs: Vec<String>,
    pub build: Vec<String>,
    pub target: Option<String>,
    pub program: String,
    pub run: Vec<String>,
    #[serde(default)]
    pub checks: String,
}

/// The command line with the value of each placeholder: `{name}`, anywhere in an argument.
///
/// # Errors
/// A placeholder that has no value.
pub fn fill(line: &[String], values: &Settings) -> Result<Vec<String>> {
    line.iter().map(|argument| fill_one(argument, values)).collect()
}

fn fill_one(argument: &str, values: &Settings) -> Result<String> {
    let (mut out, mut rest) = (String::new(), argument);
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let value = values.get(name).with_context(|| format!("{{{name}}} has no value here"))?;
        out = out + before + value;
        rest = after;
    }
    Ok(out + rest)
}

/// The names of the placeholders of a command line.
pub fn placeholders(line: &[String]) -> impl Iterator<Item = &str> {
    let after = line.iter().flat_map(|argument| argument.split('{').skip(1));
    after.filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Parses the text of `peers.toml`.
pub fn parse(text: &str) -> Result<File> {
    let file: File = toml::from_str(text)?;
    let targets = file.peer.iter().filter_map(|entry| entry.target.as_ref());
    for name in file.peer.iter().map(|entry| &entry.name).chain(targets) {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(plain) {
            bail!("entry name {name:?}: letters, digits, '-', '.' and '_' expected");
        }
    }
    Ok(file)
}

/// Checks that a tool is there and new enough; the error is the reason to show.
pub fn find_tool(name: &str, tool: &Tool) -> Result<(), String> {
    let install = &tool.install;
    let missing = || format!("no `{name}` on this machine ({install})");
    let (program, arguments) = tool.version.split_first().ok_or_else(missing)?;
    let output = Command::new(program).args(arguments).output().map_err(|_| missing())?;
    if !output.status.success() {
        return Err(missing());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let wanted = version_in(&tool.at_least);
    match version_in(&said) {
        Some(found) if Some(found) >= wanted => Ok(()),
        Some((major, minor)) => Err(format!("`{name}` is version {major}.{minor} ({install})")),
        None => {
            Err(format!("`{name}` does not print its version but '{}' ({install})", said.trim()))
        }
    }
}

/// The first `major.minor` in a text, such as (1, 26) in `go version go1.26.8 linux/amd64`.
fn version_in(text: &str) -> Option<(u32, u32)> {
    text.split_whitespace().find_map(|word| {
        let mut parts = word.trim_start_matches(|c: char| c.is_ascii_alphabetic()).split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some((major, minor[..digits].parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_of_a_tool() {
        assert_eq!(version_in("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(version_in("go version go1.27-devel_5c1a linux"), Some((1, 27)));
        assert_eq!(version_in("rustc 1.95.0 (abc 2026-01-01)"), Some((1, 95)));
        assert_eq!(version_in("none here"), None);
    }

    #[test]
    fn fills_placeholders_and_rejects_unknown_ones() {
        let values = Settings::from([("dir".into(), "/data/x".into()), ("n".into(), "7".into())]);
        let line = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let asked = line(&["-dir", "{dir}", "{n}:{n}-", "}"]);
        assert_eq!(placeholders(&asked).collect::<Vec<_>>(), ["dir", "n", "n"]);
        let filled = fill(&asked, &values).unwrap();
        assert_eq!(filled, line(&["-dir", "/data/x", "7:7-", "}"]));
        let error = fill(&line(&["{folder}"]), &values).unwrap_err().to_string();
        assert_eq!(error, "{folder} has no value here");
    }

    #[test]
    fn rejects_a_field_that_does_not_exist() {
        let error = parse("[tools.go]\nversion = []\nat_leest = '1'\ninstall = ''").unwrap_err();
        assert!(error.to_string().contains("at_leest"), "{error}");
    }
}
