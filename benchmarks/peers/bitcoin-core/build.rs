//! Compiles `cpp/kernel.cpp` against the sources of Bitcoin Core that the crate
//! `libbitcoinkernel-sys` brings with it, and whose library it is linked with.

use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=cpp");
    let core = sources()?;
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .opt_level(2)
        // a static library: its functions have no marks for import or export
        .define("BITCOINKERNEL_STATIC", None)
        // as Core's own build has it
        .define("BOOST_MULTI_INDEX_DISABLE_SERIALIZATION", None)
        .define("BOOST_NO_CXX98_FUNCTION_BASE", None)
        .flag("-isystem")
        .flag(core.to_str().ok_or("a path that is no UTF-8")?)
        .file("cpp/kernel.cpp")
        .try_compile("blockmill_kernel")?;
    Ok(())
}

/// The folder `bitcoin/src` of the crate that Cargo chose for us.
fn sources() -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var("CARGO")?;
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked"];
    let output = Command::new(cargo).args(arguments).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let kernel = packages.iter().find(|package| package["name"] == "libbitcoinkernel-sys");
    let manifest = kernel.and_then(|kernel| kernel["manifest_path"].as_str());
    let folder = manifest.map(Path::new).and_then(Path::parent).ok_or("no libbitcoinkernel-sys")?;
    Ok(folder.join("bitcoin/src"))
}
