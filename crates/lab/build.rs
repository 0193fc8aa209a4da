//! Makes the definitions of this repository part of the program: a new one is one file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = Path::new("../../benchmarks/definitions");
    println!("cargo::rerun-if-changed={}", folder.display());
    let folder = fs::canonicalize(folder).expect("the folder of definitions");
    let entries = fs::read_dir(&folder).expect("the folder of definitions");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut list = "&[\n".to_owned();
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        writeln!(list, "({name:?}, include_str!({path:?})),").expect("a string takes everything");
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("a folder for what is made"));
    fs::write(out.join("definitions.rs"), list).expect("the list of definitions");
}
