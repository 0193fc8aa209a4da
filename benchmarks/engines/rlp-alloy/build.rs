//! Tells the program what it is made of: the engine's name, from the feature, and the versions of
//! alloy, from Cargo.lock.

use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let engine = if env::var_os("CARGO_FEATURE_ASM").is_some() { "alloy-asm" } else { "alloy" };
    println!("cargo::rustc-env=ENGINE={engine}");

    let lock = fs::read_to_string("Cargo.lock")?;
    let versions = ["alloy-rlp", "alloy-consensus"].map(|name| {
        let entry = format!("name = \"{name}\"\nversion = \"");
        let version = lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
        version.map(|version| format!("{name} {version}")).ok_or(format!("Cargo.lock: no {name}"))
    });
    let [rlp, consensus] = versions;
    println!("cargo::rustc-env=VERSIONS={}, {}", rlp?, consensus?);
    println!("cargo::rerun-if-changed=Cargo.lock");
    Ok(())
}
