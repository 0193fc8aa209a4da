//! How a peer is built: its tools, its source, and the folder of its build.

use blockmill_platform::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::PEERS_DIR;
use super::file::{self, Entry, File, Tool};
use crate::definition::Settings;
use crate::process;

/// `peers.toml`, read, and where it is.
pub struct PeersFile {
    pub file: File,
    folder: PathBuf,
    home: PathBuf,
}

/// The build of one peer.
#[derive(Clone, Debug)]
pub struct Build {
    tools: Vec<(String, Tool)>,
    /// Folder of the source, in which the build command runs.
    pub source: PathBuf,
    /// Folder of builds; see [`PEERS_DIR`].
    pub home: PathBuf,
}

impl PeersFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = file::parse(&text).with_context(|| path.display().to_string())?;
        let path = std::path::absolute(path)?;
        let folder = path.parent().context("peers.toml is in no folder")?.to_owned();
        let home = match std::env::var_os(PEERS_DIR) {
            Some(home) => std::path::absolute(home)?,
            None => folder.parent().unwrap_or(&folder).join("target").join("peers"),
        };
        Ok(Self { file, folder, home })
    }

    /// The build of a peer whose source is in `folder` and which `needs` these tools.
    pub fn build_of(&self, folder: &str, needs: &[String]) -> Result<Build> {
        let tool = |name: &String| {
            let tool = self.file.tools.get(name).with_context(|| format!("no [tools.{name}]"))?;
            Ok((name.clone(), tool.clone()))
        };
        let tools = needs.iter().map(tool).collect::<Result<_>>()?;
        Ok(Build { tools, source: self.folder.join(folder), home: self.home.clone() })
    }
}

impl Build {
    /// Checks the tools; the error is the reason to show.
    pub fn find_tools(&self) -> Result<(), String> {
        self.tools.iter().try_for_each(|(name, tool)| file::find_tool(name, tool))
    }

    /// Builds `entry` in the folder of its target and returns the program.
    pub fn run(&self, entry: &Entry) -> Result<PathBuf> {
        let target = self.home.join(entry.target.as_ref().unwrap_or(&entry.name));
        fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
        let values = Settings::from([("target".to_owned(), utf8(&target)?)]);
        self.build(&file::fill(&entry.build, &values)?)?;
        let program = target.join(&entry.program);
        ensure!(files::is_file(&program)?, "the build left no {}", program.display());
        Ok(program)
    }

    /// Runs the build command `line`, placeholders filled in, in the peer's folder.
    fn build(&self, line: &[String]) -> Result<()> {
        let (tool, arguments) = line.split_first().context("empty build command")?;
        let ended = process::watch(Command::new(tool).args(arguments).current_dir(&self.source))
            .with_context(|| format!("cannot run `{tool}` in {}", self.source.display()))?;
        if !ended.status.success() {
            bail!("`{}` failed: {}", line.join(" "), process::last_line(&ended.stderr));
        }
        Ok(())
    }
}

/// The path as text, for command lines.
pub fn utf8(path: &Path) -> Result<String> {
    let name = path.to_str().ok_or_else(|| anyhow!("{} is not valid UTF-8", path.display()))?;
    Ok(name.to_owned())
}
