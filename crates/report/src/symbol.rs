//! Names of functions, for people.

/// How the names of our crates begin.
const OURS: &str = "blockmill_";

/// The last two parts of a path, without generic arguments: `keccak::hash`.
pub(crate) fn short(name: &str) -> String {
    let plain = plain(name);
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    let named = parts.iter().rposition(|part| !part.starts_with('{')).unwrap_or(0);
    let from = named.saturating_sub(1);
    parts.get(from..).unwrap_or_default().join("::")
}

/// The crate of a function; for a trait method, the crate of the type.
pub(crate) fn crate_of(name: &str) -> &str {
    let name = name.trim_start_matches(['<', '&', '(', '[']);
    name.split([':', ' ', '<', '>']).next().unwrap_or_default()
}

/// The name of a function's crate for people: ours without their common prefix, and nothing for a
/// function of no crate.
pub(crate) fn crate_name(name: &str) -> &str {
    let of = if name.contains("::") { crate_of(name) } else { "" };
    of.strip_prefix(OURS).unwrap_or(of)
}

/// The crate and the short name: `signatures: x8::hash`; of a function of no crate its name.
pub(crate) fn with_crate(name: &str) -> String {
    let (of, short) = (crate_name(name), short(name));
    let short = short.strip_prefix(OURS).unwrap_or(&short);
    let is_in_it = of.is_empty() || short.split("::").next() == Some(of);
    if is_in_it { short.to_owned() } else { format!("{of}: {short}") }
}

/// Is this a function through which others are called, of which nobody wants to know? Closures
/// among them: where one is inlined its name does not say of what.
pub(crate) fn is_plumbing(name: &str) -> bool {
    const OF_CALLS: [&str; 6] = [
        "call",
        "call_mut",
        "call_once",
        "catch_unwind",
        "do_call",
        "__rust_begin_short_backtrace",
    ];
    const OF_STARTS: [&str; 6] =
        ["_start", "__libc_start", "start_thread", "thread_start", "clone3", "__clone"];
    let plain = plain(name);
    let last = plain.rsplit("::").next().unwrap_or_default();
    last.starts_with('{')
        || OF_CALLS.contains(&last)
        || OF_STARTS.iter().any(|start| name.starts_with(start))
        || ["std::rt::", "std::panic", "core::ops::function::"]
            .iter()
            .any(|of| name.starts_with(of))
}

/// A path without the parts between angle brackets. Of a method of a trait, `<type as trait>`,
/// the type stays.
fn plain(name: &str) -> String {
    let of_type = name.strip_prefix('<').unwrap_or(name);
    let (mut plain, mut depth) = (String::new(), 0u32);
    let mut rest = of_type;
    while let Some(letter) = rest.chars().next() {
        match letter {
            // no bracket: the arrow before a return type
            '-' if rest.starts_with("->") => {
                rest = &rest[2..];
                continue;
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && rest.starts_with(" as ") => depth += 1,
            other if depth == 0 => plain.push(other),
            _ => {}
        }
        rest = &rest[letter.len_utf8()..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_say_what_it_is() {
        for (long, expected) in [
            ("blockmill_signatures::keccak::x8::hash", "x8::hash"),
            ("core::iter::Iterator::map<alloc::vec::Vec<u8>>", "Iterator::map"),
            ("<blockmill_rlp::List as core::iter::Iterator>::next", "List::next"),
            ("alloc::vec::Vec<T,A>::push", "Vec::push"),
            ("a::b::{{closure}}", "a::b::{{closure}}"),
            ("memcpy", "memcpy"),
            ("answer<fn(a::Task) -> core::option::Option<u8>, b::C>", "answer"),
            ("", ""),
        ] {
            assert_eq!(short(long), expected, "{long}");
        }
        assert_eq!(crate_of("<blockmill_rlp::List as core::Iterator>::next"), "blockmill_rlp");
        assert_eq!(crate_of("memcpy"), "memcpy");
        for (long, expected) in [
            ("blockmill_signatures::keccak::x8::hash", "signatures: x8::hash"),
            ("blockmill_rlp::decode", "rlp::decode"),
            ("revm::run", "revm::run"),
            ("memcpy", "memcpy"),
        ] {
            assert_eq!(with_crate(long), expected, "{long}");
        }
    }

    #[test]
    fn functions_that_only_call_others_are_plumbing() {
        let plumbing = "_start __libc_start_main_impl std::rt::lang_start_internal {closure#0}<u8> \
                        std::panicking::catch_unwind::do_call::<A> call_once<fn()> a::{{closure}}";
        for name in plumbing.split(' ') {
            assert!(is_plumbing(name), "{name}");
        }
        for name in ["main", "memcpy", "calls", "a::b::recover<T>", "<a::Vec<T> as Fold>::fold", ""]
        {
            assert!(!is_plumbing(name), "{name}");
        }
    }
}
