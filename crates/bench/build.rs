//! Makes the definitions of this repository part of the program: a new one is one file.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("../../benchmarks/definitions");
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder)?;
    let mut paths =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut list = "&[\n".to_owned();
    for path in paths {
        let name =
            path.file_stem().and_then(|name| name.to_str()).ok_or("a name that is no text")?;
        // the text, not its path: what is built here may be used by another clone
        writeln!(list, "({name:?}, {:?}),", fs::read_to_string(&path)?)?;
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    Ok(fs::write(out.join("definitions.rs"), list)?)
}
