//! Blocks executed by revm over a state in memory, measured, as one line of JSON.

mod chain;
mod execute;
mod genesis;
mod measure;
#[path = "../../measure/memory.rs"]
mod memory;

use measure::{Costs, Line};
use std::error::Error;
use std::process::ExitCode;

/// What this program and its libraries are.
const VERSION: &str = "revm 43.0.3, alloy-consensus 2.5.0";

/// Whatever stops it.
type Failure = Box<dyn Error>;

/// The flags.
struct Arguments {
    genesis: String,
    rlp: String,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    let line = measure(&arguments);
    let failed = line.is_err();
    let line = line.unwrap_or_else(|error| Line::failed(VERSION, error.to_string()));
    match serde_json::to_string(&line) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("{error}"),
    }
    ExitCode::from(u8::from(failed))
}

fn arguments() -> Result<Arguments, String> {
    let (mut genesis, mut rlp) = (None, None);
    let mut all = std::env::args().skip(1);
    while let Some(flag) = all.next() {
        let place = match flag.as_str() {
            "-genesis" => &mut genesis,
            "-rlp" => &mut rlp,
            other => return Err(format!("{other}: -genesis FILE and -rlp FILE expected")),
        };
        *place = Some(all.next().ok_or_else(|| format!("{flag}: a value is missing"))?);
    }
    match (genesis, rlp) {
        (Some(genesis), Some(rlp)) => Ok(Arguments { genesis, rlp }),
        _ => Err("-genesis FILE and -rlp FILE are needed".to_owned()),
    }
}

fn measure(arguments: &Arguments) -> Result<Line, Failure> {
    let mut costs = Costs::begin();
    let (state, schedule) = genesis::read(&arguments.genesis)?;
    let mut machine = execute::Machine::new(state, schedule);
    costs.start();
    let export = std::fs::read(&arguments.rlp)?;
    let mut rest = &export[..];
    let mut last = None;
    while !rest.is_empty() {
        let block = chain::decode(&mut rest)?;
        costs.decoded();
        let senders = chain::senders(&block)?;
        costs.recovered();
        if block.header.number > 0 {
            machine.execute(&block, &senders)?;
        }
        costs.executed(&block.header, senders.len());
        last = Some(block.header);
    }
    costs.stop();
    let last = last.ok_or("no blocks in the input")?;
    let root = machine.root();
    if root != last.state_root {
        return Err(format!("block {}: another state root, {root}", last.number).into());
    }
    Ok(costs.line(VERSION, &last, root))
}
