//! Tells the program what it is made of: the versions of alloy, from Cargo.lock.

use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
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
