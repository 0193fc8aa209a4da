//! Names of functions, for people.

/// The last two parts of a path, without what it is generic over: `keccak::hash`.
pub(crate) fn short(name: &str) -> String {
    let plain = plain(name);
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    let named = parts.iter().rposition(|part| !part.starts_with('{')).unwrap_or(0);
    let from = named.saturating_sub(1);
    parts.get(from..).unwrap_or_default().join("::")
}

/// The crate that a function is of; of a method of a trait, that of the type.
pub(crate) fn crate_of(name: &str) -> &str {
    let name = name.trim_start_matches(['<', '&', '(', '[']);
    name.split([':', ' ', '<', '>']).next().unwrap_or_default()
}

/// A path without what stands between angle brackets. Of a method of a trait, `<type as trait>`,
/// the type stays.
fn plain(name: &str) -> String {
    let of_type = name.strip_prefix('<').unwrap_or(name);
    let (mut plain, mut depth) = (String::new(), 0u32);
    let mut rest = of_type;
    while let Some(letter) = rest.chars().next() {
        match letter {
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
            ("blockmill_crypto::keccak::x8::hash", "x8::hash"),
            ("core::iter::Iterator::map<alloc::vec::Vec<u8>>", "Iterator::map"),
            ("<blockmill_rlp::List as core::iter::Iterator>::next", "List::next"),
            ("alloc::vec::Vec<T,A>::push", "Vec::push"),
            ("a::b::{{closure}}", "a::b::{{closure}}"),
            ("memcpy", "memcpy"),
            ("", ""),
        ] {
            assert_eq!(short(long), expected, "{long}");
        }
        assert_eq!(crate_of("<blockmill_rlp::List as core::Iterator>::next"), "blockmill_rlp");
        assert_eq!(crate_of("memcpy"), "memcpy");
    }
}
