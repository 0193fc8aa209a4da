//! Values in configurations: durations, amounts, bytes.

/// Units of one GAS.
pub(super) const GAS: i64 = 100_000_000;

/// GAS with up to eight decimals (`fixedn.Fixed8`), in units of 10^-8.
pub(super) fn fixed8(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 8 || !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let part: i64 = format!("{decimals:0<8}").parse().ok()?;
    let whole: i64 = whole.parse().ok()?;
    whole.checked_mul(GAS)?.checked_add(if text.starts_with('-') { -part } else { part })
}

/// A duration as Go writes it, `1m30s`, in milliseconds.
pub(super) fn milliseconds(text: &str) -> Option<u32> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[..letters] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "" if number == 0 => 0,
            _ => return None,
        };
        rest = &rest[letters..];
        let product = number.checked_mul(unit)?;
        total = total.checked_add(product)?;
    }
    u32::try_from(total).ok().filter(|_| !text.is_empty())
}

/// Base64 with padding (RFC 4648, section 4).
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let (groups, []) = text.as_bytes().as_chunks::<4>() else { return None };
    let mut bytes = Vec::with_capacity(3 * groups.len());
    for (place, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|digit| **digit == b'=').count();
        if padding > 2 || (padding > 0 && place + 1 < groups.len()) {
            return None;
        }
        let mut number: u32 = 0;
        for digit in &group[..4 - padding] {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            number = number << 6 | u32::from(value);
        }
        number <<= 6 * padding;
        bytes.extend_from_slice(&number.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_amounts_and_base64_are_read_as_go_reads_them() {
        let read = milliseconds;
        assert_eq!(read("15s"), Some(15_000));
        assert_eq!(read("1m30s"), Some(90_000));
        assert_eq!(read("500ms"), Some(500));
        assert_eq!(read("0"), Some(0));
        for bad in ["", "15", "s", "1x", "-1s", "99999999999h", "1.5s"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(fixed8("52000000"), Some(52_000_000 * GAS));
        assert_eq!(fixed8("0.00000001"), Some(1));
        assert_eq!(fixed8("-0.5"), Some(-GAS / 2));
        assert_eq!(fixed8("0.000000001"), None);
        assert_eq!(fixed8("99999999999999999999"), None);
        assert_eq!(base64("TWFu").as_deref(), Some(&b"Man"[..]));
        assert_eq!(base64("TWE=").as_deref(), Some(&b"Ma"[..]));
        assert_eq!(base64("TQ==").as_deref(), Some(&b"M"[..]));
        for bad in ["TWF", "TQ=u", "T===", "TQ==TQ==", "T-E="] {
            assert_eq!(base64(bad), None, "{bad}");
        }
    }
}
