//! `engines.toml`: what a peer needs, how it is built and how it is run.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Input;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnginesFile {
    /// Tools by name.
    #[serde(default)]
    pub tools: BTreeMap<String, Tool>,
    /// Peers of `bench headers`, in order.
    pub engine: Vec<Engine>,
    /// Peers of `bench rlp`, in order.
    #[serde(default)]
    pub rlp: Vec<ProgramEngine>,
    /// Peers of `bench store`, in order.
    #[serde(default)]
    pub store: Vec<ProgramEngine>,
    /// Peers of `bench reindex`, in order.
    #[serde(default)]
    pub bitcoin: Vec<ProgramEngine>,
}

/// A program that must be on the machine to build a peer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Command line that prints its version.
    pub version: Vec<String>,
    /// Oldest version that will do, `major.minor`.
    pub at_least: String,
    /// What to tell someone who does not have it.
    pub install: String,
}

/// A peer; the fields are explained at the top of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    pub name: String,
    pub label: String,
    pub client: String,
    pub version: String,
    pub folder: String,
    pub needs: Vec<String>,
    pub build: Vec<String>,
    pub run: Vec<String>,
    pub seals: Option<Vec<String>>,
    pub era1: Vec<String>,
    pub stream: Vec<String>,
    pub checks: String,
}

/// A peer of `bench rlp`, `bench store` or `bench reindex`, whose command line is the same for all
/// of a kind; the fields are explained at the top of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramEngine {
    pub name: String,
    pub label: String,
    pub client: String,
    pub version: String,
    pub folder: String,
    pub needs: Vec<String>,
    pub build: Vec<String>,
    pub program: String,
}

impl Engine {
    /// The command line for `input`, placeholders not yet filled in.
    pub fn command(&self, input: &Input) -> Vec<String> {
        let input = match input {
            Input::Stream(_) => &self.stream,
            Input::Era1(_) => &self.era1,
        };
        [&self.run, self.seals.as_ref().unwrap_or(&Vec::new()), input]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }
}

/// What the placeholders of a command line stand for.
#[derive(Debug, Default)]
pub struct Values {
    pub program: Option<String>,
    pub target: Option<String>,
    pub dir: Option<String>,
    pub caches: Option<String>,
    pub chunk: Option<String>,
    pub freq: Option<String>,
    pub paths: Option<String>,
}

impl Values {
    /// Replaces each argument that is a placeholder.
    ///
    /// # Errors
    /// A placeholder that does not exist, or has no value in this command line.
    pub fn fill(&self, line: &[String]) -> Result<Vec<String>> {
        line.iter()
            .map(|argument| {
                let value = match argument.as_str() {
                    "{program}" => &self.program,
                    "{target}" => &self.target,
                    "{dir}" => &self.dir,
                    "{caches}" => &self.caches,
                    "{chunk}" => &self.chunk,
                    "{freq}" => &self.freq,
                    "{paths}" => &self.paths,
                    other if other.contains('{') => bail!("unknown placeholder {other}"),
                    plain => return Ok(plain.to_owned()),
                };
                value.clone().with_context(|| format!("{argument} has no value here"))
            })
            .collect()
    }
}

/// Parses the text of `engines.toml`.
pub fn parse(text: &str) -> Result<EnginesFile> {
    let file: EnginesFile = toml::from_str(text)?;
    let names = file.engine.iter().map(|engine| &engine.name);
    let programs = file.rlp.iter().chain(&file.store).chain(&file.bitcoin);
    for name in names.chain(programs.map(|engine| &engine.name)) {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(plain) {
            bail!("engine name {name:?}: letters, digits, '-', '.' and '_' expected");
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
        None => Err(format!("`{name}` does not tell its version: {:?} ({install})", said.trim())),
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
        let values = Values { dir: Some("/data/x".into()), ..Values::default() };
        let line = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        assert_eq!(values.fill(&line(&["-dir", "{dir}"])).unwrap(), line(&["-dir", "/data/x"]));
        for bad in ["{folder}", "{chunk}"] {
            let error = values.fill(&line(&[bad])).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }

    #[test]
    fn rejects_a_field_that_does_not_exist() {
        let error = parse("[tools.go]\nversion = []\nat_leest = '1'\ninstall = ''").unwrap_err();
        assert!(error.to_string().contains("at_leest"), "{error}");
    }
}
