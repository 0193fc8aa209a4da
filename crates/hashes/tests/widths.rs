//! Which widths of hashes this CPU has: said by `BLOCKMILL_WIDTHS`, when somebody knows (an
//! emulator with a CPU that was chosen). Otherwise a width that is never found is never tested.

use blockmill_hashes::{EthashMix, ManyKeccak, ManySha256};

/// Every width under its name, a kind after the other.
fn found() -> String {
    let keccak: Vec<_> = ManyKeccak::all_available().iter().map(|many| many.name()).collect();
    let sha256: Vec<_> = ManySha256::all_available().iter().map(|many| many.name()).collect();
    format!("keccak {}, sha256 {}", keccak.join(" "), sha256.join(" "))
}

#[test]
fn the_cpu_has_the_widths_that_it_is_known_to_have() {
    let found = found();
    println!("{found}");
    match std::env::var("BLOCKMILL_WIDTHS") {
        Ok(expected) => {
            assert_eq!(
                Some(&*found),
                expected.split_once(", signatures ").map(|(hashes, _)| hashes)
            );
        }
        Err(_) => assert!(found.contains("keccak scalar"), "{found}"),
    }
}

#[test]
fn what_is_detected_is_among_what_is_available() {
    let keccak = ManyKeccak::detect();
    assert!(ManyKeccak::all_available().iter().any(|many| many.name() == keccak.name()));
    let sha256 = ManySha256::detect();
    assert!(ManySha256::all_available().iter().any(|many| many.name() == sha256.name()));
    let ethash = EthashMix::detect();
    assert!(EthashMix::all_available().iter().any(|mix| mix.name() == ethash.name()));
    println!("{}, {}, {}", keccak.name(), sha256.name(), ethash.name());
    // a CPU with instructions of its own never falls back to integers
    let widest = |count: usize, name: &str| assert_eq!(count > 1, name != "scalar", "{name}");
    widest(ManyKeccak::all_available().len(), keccak.name());
    widest(ManySha256::all_available().len(), sha256.name());
}
