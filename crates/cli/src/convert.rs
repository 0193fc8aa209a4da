//! `convert`: an archive in another format.

use crate::args::{Convert, Target};
use crate::chain;
use crate::output::Exit;
use crate::progress::grouped;
use anyhow::Result;
use archive::{Archive, Format};
use ethereum::convert::{self, Conversion};

impl Target {
    /// The archive format, and whether it is compressed with gzip.
    pub fn format(self) -> (Format, bool) {
        match self {
            Self::Era1 => (Format::Era1, false),
            Self::Freezer => (Format::Freezer, false),
            Self::Rlp => (Format::RlpExport, false),
            Self::RlpGz => (Format::RlpExport, true),
            Self::Headers => (Format::HeaderStream, false),
        }
    }
}

/// `blockmill convert`.
pub fn run(args: &Convert, json: bool) -> Result<Exit> {
    let archive = Archive::open(&args.paths)?;
    let (format, gzip) = args.to.format();
    let detected = chain::detect(args.chain.as_deref(), &archive, &args.paths, None);
    let spec = match (detected, args.chain.is_some() || format == Format::Era1) {
        (Ok(spec), _) => Some(spec),
        // only era1 files carry the network's name
        (Err(_), false) => None,
        (Err(error), true) => return Err(error),
    };
    let conversion =
        Conversion { spec: spec.as_ref(), format, gzip, from: args.from, until: args.until };
    let done = convert::convert(&archive, &conversion, &args.out)?;
    if json {
        let (first, last) = done.range;
        let out = args.out.display().to_string();
        println!("{}", serde_json::json!({ "out": out, "first": first, "last": last }));
    } else {
        let (first, last) = done.range;
        println!("wrote blocks {} to {}", grouped(first), grouped(last));
        println!("to {}", args.out.display());
        println!("conversion checks encodings, not the chain; `blockmill verify` does");
    }
    Ok(Exit::Success)
}
