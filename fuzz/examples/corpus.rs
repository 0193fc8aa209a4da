//! Writes the seeds of every target to `corpus/`, where cargo-fuzz looks for them.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in blockmill_fuzz::TARGETS {
        let folder = corpus.join(target.name);
        fs::create_dir_all(&folder)?;
        for (i, seed) in blockmill_fuzz::seeds::of(target.name).iter().enumerate() {
            fs::write(folder.join(format!("seed-{i}")), seed)?;
        }
    }
    println!("{}: seeds of {} targets", corpus.display(), blockmill_fuzz::TARGETS.len());
    Ok(())
}
