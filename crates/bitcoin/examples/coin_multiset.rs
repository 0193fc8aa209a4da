//! Verifies a Bitcoin Core datadir alternately with a set of coins and by the coin multiset hash,
//! and prints wall time and CPU time of each, in seconds. MIB is the memory for the set of coins.
//!
//! ```text
//! cargo run --release -p blockmill-bitcoin --example coin_multiset -- DATADIR \
//!     [PAIRS] [THREADS] [MIB]
//! ```

use blockmill_archive::blkdat::open;
use blockmill_bitcoin::import::{Options, Run, import};
use blockmill_bitcoin::inspect::datadir_of;
use blockmill_bitcoin::params::Params;
use blockmill_pipeline::options::OptionSet;
use blockmill_pipeline::usage::{CpuTimes, cpu_times};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("which datadir?")?);
    let pairs: usize = arguments.next().map_or(Ok(5), |pairs| pairs.parse())?;
    let threads = match arguments.next() {
        Some(threads) => threads.parse()?,
        None => std::thread::available_parallelism()?.get(),
    };
    let memory: u64 = arguments.next().map_or(Ok(450), |mebibytes| mebibytes.parse())?;
    let files = open(&[path], None)?;
    let network = files.network().ok_or("which network?")?;
    let params = Params::by_magic(network.magic()).ok_or("which network?")?;
    let unspent = datadir_of(&files)?;
    println!("{} bytes of blocks, {threads} threads", files.bytes());
    for pair in 0..pairs {
        let mut settings = ["fetched", "multiset"];
        // alternate the order
        if pair % 2 == 1 {
            settings.reverse();
        }
        for value in settings {
            let unspent = unspent.clone();
            let memory = memory << 20;
            let mut options = Options { threads, unspent, memory, ..Options::new(params.clone()) };
            options.settings.set(&format!("coins={value}"))?;
            let data = tempfile::tempdir()?;
            let (start, cpu) = (Instant::now(), cpu_s());
            let (run, outcome) = import(&files, &options, data.path(), |_| {});
            outcome.map_err(|error| error.to_string())?;
            let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_s() - cpu);
            print(pair, value, &run, wall, cpu);
        }
    }
    Ok(())
}

fn cpu_s() -> f64 {
    let CpuTimes { user_s, sys_s } = cpu_times();
    user_s + sys_s
}

fn print(pair: usize, value: &str, run: &Run, wall: f64, cpu: f64) {
    let Run { inputs, coins, proof, .. } = run;
    println!(
        "pair {pair}: coins={value:8} wall {wall:7.3} CPU {cpu:7.3}, {inputs} inputs, {coins} \
         coins left, {proof:?}"
    );
}
