//! Compiles `cpp/interpreter.cpp` against the sources of Bitcoin Core that the crate
//! `bitcoinconsensus` brings with it, and whose library it is linked with.

use serde_json::Value;
use std::env::{home_dir, var, var_os};
use std::error::Error;
use std::fs::read_dir;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the crate, under the version that `Cargo.toml` asks for.
const CRATE: &str = "bitcoinconsensus-0.106.0+26.0";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=cpp");
    let folder = match unpacked() {
        Some(folder) => folder,
        None => chosen()?,
    };
    let core = folder.join("depend/bitcoin/src");
    let mut build = cc::Build::new();
    // as the crate compiles the rest
    build.cpp(true).std("c++17").define("__STDC_FORMAT_MACROS", None).warnings(false);
    if var("TARGET")?.contains("windows") {
        build.define("WIN32", "1");
    }
    build.include(&core).include(core.join("secp256k1/include"));
    build.file("cpp/interpreter.cpp").try_compile("blockmill_interpreter")?;
    Ok(())
}

/// The folder in which Cargo unpacks downloaded crates.
fn unpacked() -> Option<PathBuf> {
    let home = var_os("CARGO_HOME").map(PathBuf::from).or(home_dir().map(|at| at.join(".cargo")))?;
    let registries = read_dir(home.join("registry/src")).ok()?;
    let folders = registries.map_while(Result::ok).map(|registry| registry.path().join(CRATE));
    folders.into_iter().find(|folder| folder.is_dir())
}

/// Another folder from which Cargo takes it, such as vendored crates. The query needs the manifests
/// of all crates, also of those that are not compiled.
fn chosen() -> Result<PathBuf, Box<dyn Error>> {
    let arguments = ["metadata", "--format-version", "1", "--offline"];
    let output = Command::new(var("CARGO")?).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let found = packages.iter().find(|package| package["name"] == "bitcoinconsensus");
    let manifest = found.and_then(|found| found["manifest_path"].as_str());
    let folder = manifest.map(Path::new).and_then(Path::parent);
    Ok(folder.ok_or("no bitcoinconsensus")?.to_path_buf())
}
