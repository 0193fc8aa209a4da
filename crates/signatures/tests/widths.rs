//! Which widths of signatures this CPU has: said by `BLOCKMILL_WIDTHS`, when somebody knows (an
//! emulator with a CPU that was chosen). Otherwise a width that is never found is never tested.

use blockmill_signatures::{Signatures, Width};

#[test]
fn the_cpu_has_the_widths_of_signatures_that_it_is_known_to_have() {
    let found: Vec<_> = Width::ALL
        .into_iter()
        .filter(|width| Signatures::with(*width).is_some())
        .map(Width::name)
        .collect();
    let found = found.join(" ");
    println!("{found}");
    match std::env::var("BLOCKMILL_WIDTHS") {
        Ok(expected) => {
            assert_eq!(Some(&*found), expected.split_once(", signatures ").map(|(_, list)| list));
        }
        Err(_) => assert!(found.starts_with("scalar"), "{found}"),
    }
}
