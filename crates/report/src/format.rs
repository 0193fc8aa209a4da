//! Numbers and names as people read them.
//!
//! Thousands are set apart by commas, sizes count in steps of 1,000, and the digits of a time fall
//! with its size, so that every figure of a column carries about as much as was measured.

/// Placeholder for a missing figure.
pub const NONE: &str = "-";

pub use blockmill_verdict::grouped as count;

pub use blockmill_verdict::counted;

/// A number with `decimals` digits after the point and commas before it.
pub fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 { "-" } else { "" };
    // Above the largest u64 a number has no place in a table, but must not be misprinted either.
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    format!("{sign}{whole}{rest}")
}

/// Three or four digits of a number: `0.123`, `1.234`, `12.34`, `123.4`, `1,234`.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.9995 => 3,
        size if size < 99.995 => 2,
        size if size < 999.95 => 1,
        _ => 0,
    };
    number(value, decimals)
}

/// A rate, without digits after the point unless it is a small one.
pub fn rate(value: f64) -> String {
    number(value, if value < 99.95 { 1 } else { 0 })
}

/// A time in seconds, in the unit that fits: `850 ms`, `1.23 s`, `3 min 20 s`, `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => NONE.to_owned(),
        s if s < 0.001 => format!("{} µs", number(s * 1e6, 0)),
        s if s < 0.9995 => format!("{} ms", number(s * 1e3, if s < 0.01 { 2 } else { 0 })),
        s if s < 99.95 => format!("{} s", number(s, if s < 9.995 { 2 } else { 1 })),
        s if s < 3599.5 => {
            let whole = s.round() as u64;
            format!("{} min {:02} s", whole / 60, whole % 60)
        }
        s => {
            let minutes = (s / 60.0).round() as u64;
            format!("{} h {:02} min", count(minutes / 60), minutes % 60)
        }
    }
}

/// A time in nanoseconds with three digits: `4.25 ns`, `85.0 ns`, `850 ns`, `1.23 µs`, `12.3 ms`.
pub fn nanoseconds(ns: f64) -> String {
    let mut value = ns;
    let mut unit = "ns";
    for larger in ["µs", "ms", "s"] {
        if value.is_nan() || value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = larger;
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = number(value, decimals);
    if text == NONE { text } else { format!("{text} {unit}") }
}

/// A number of times that something happens on average: `0`, `1`, `0.02`.
pub fn average(value: f64) -> String {
    let whole = (value - value.round()).abs() < 0.005;
    number(value, if whole { 0 } else { 2 })
}

/// A size: `512 B`, `12.3 MB`, `1.23 GB`.
pub fn bytes(value: u64) -> String {
    let mut size = value as f64;
    if value < 1000 {
        return format!("{value} B");
    }
    let mut unit = "";
    for name in ["kB", "MB", "GB", "TB", "PB", "EB"] {
        unit = name;
        size /= 1000.0;
        if size < 999.5 {
            break;
        }
    }
    format!("{} {unit}", number(size, if size < 9.995 { 2 } else { usize::from(size < 99.95) }))
}

/// How many times: `1.00x`, `12.3x`, `123x`.
pub fn ratio(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let text = number(value, decimals);
    if text == NONE { text } else { text + "x" }
}

/// How many times, without a sign: `1.00`, `12.3`, `123`.
pub fn times(value: f64) -> String {
    ratio(value).trim_end_matches('x').to_owned()
}

/// A share that is small, such as noise: `0.4 %`, `1.2 %`, `12 %`.
pub fn percent_of_noise(share: f64) -> String {
    match share.is_finite() {
        true => format!("{} %", number(share * 100.0, usize::from(share < 0.0995))),
        false => "not known".to_owned(),
    }
}

/// A part of one as a percentage.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0} %", share * 100.0) } else { NONE.to_owned() }
}

/// `text` without control characters: a record may come from anywhere, and a terminal obeys what
/// is printed to it.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A hash by its first and last digits: `0x5ec1ffb8…780b4218`. A short text stays.
pub fn short_hash(hash: &str) -> String {
    let count = hash.chars().count();
    if count < 24 {
        return hash.to_owned();
    }
    // those of Bitcoin begin with zeros
    let zeros = hash.chars().take_while(|c| *c == '0').count();
    let first = if hash.starts_with("0x") { 10 } else { zeros.clamp(0, 24) + 6 };
    let head: String = hash.chars().take(first).collect();
    let tail: String = hash.chars().skip(count - 8).collect();
    format!("{head}…{tail}")
}

/// A range of blocks with the number of them.
pub fn block_range(first: u64, last: u64, blocks: u64) -> String {
    format!("{} to {} ({})", count(first), count(last), counted(blocks, "block"))
}

/// A time in seconds since 1970 as `2026-01-31T23:59:59Z` (RFC 3339).
pub fn date_time(unix: u64) -> String {
    let (year, month, day) = civil_date(unix / 86_400);
    let (hour, minute, second) = (unix / 3600 % 24, unix / 60 % 60, unix % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A time in seconds since 1970 as `2026-01-31 23:59 UTC`; none for a time before 1970 or not set.
pub fn date(unix: f64) -> Option<String> {
    if !(1.0..253_402_300_800.0).contains(&unix) {
        return None;
    }
    let seconds = unix as u64;
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    Some(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC"))
}

/// Year, month and day of a day counted from 1970-01-01. Years are counted from March, so that the
/// leap day is the last of a year, in eras of 400 years, which all have 146,097 days.
fn civil_date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468; // days from 0000-03-01 to 1970-01-01
    let (era, in_era) = (day / 146_097, day % 146_097);
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    // Months from March alternate between 31 and 30 days: 153 days in five of them.
    let from_march = (5 * in_year + 2) / 153;
    let date = in_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_thousands_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!([0, 1, 1_000].map(|n| counted(n, "gap")), ["0 gaps", "1 gap", "1,000 gaps"]);
        assert_eq!(number(-1234.56, 1), "-1,234.6");
        assert_eq!(number(f64::INFINITY, 1), "-");
        assert_eq!(number(1e30, 0), "1000000000000000019884624838656");
    }

    #[test]
    fn keeps_as_many_digits_as_matter() {
        let shown: Vec<_> = [0.0, 0.1234, 9.9996, 12.345, 999.96, 12345.6].map(figure).into();
        assert_eq!(shown, ["0.000", "0.123", "10.00", "12.35", "1,000", "12,346"]);
        let shown: Vec<_> = [1.0, 9.996, 99.96, 1234.0, f64::NAN].map(ratio).into();
        assert_eq!(shown, ["1.00x", "10.0x", "100x", "1,234x", "-"]);
        assert_eq!([12.34, 1_234_567.8].map(rate), ["12.3", "1,234,568"]);
    }

    #[test]
    fn picks_the_unit_of_a_time() {
        let shown: Vec<_> =
            [0.0, 0.00025, 0.0025, 0.85, 0.9996, 12.34, 99.96, 200.0, 3599.9, 7500.0]
                .map(duration)
                .into();
        let expected = [
            "0 µs",
            "250 µs",
            "2.50 ms",
            "850 ms",
            "1.00 s",
            "12.3 s",
            "1 min 40 s",
            "3 min 20 s",
            "1 h 00 min",
            "2 h 05 min",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn nanoseconds_keep_three_digits() {
        let shown: Vec<_> =
            [4.249, 85.0, 999.4, 999.6, 12_345.0, 2.5e6, 7e10, f64::NAN].map(nanoseconds).into();
        let expected =
            ["4.25 ns", "85.0 ns", "999 ns", "1.00 µs", "12.3 µs", "2.50 ms", "70.0 s", "-"];
        assert_eq!(shown, expected);
        assert_eq!([0.0, 1.0, 0.021, 1234.0].map(average), ["0", "1", "0.02", "1,234"]);
    }

    #[test]
    fn picks_the_unit_of_a_size() {
        let shown: Vec<_> = [0, 999, 1_000, 999_600, 12_345_678, u64::MAX].map(bytes).into();
        assert_eq!(shown, ["0 B", "999 B", "1.00 kB", "1.00 MB", "12.3 MB", "18.4 EB"]);
    }

    #[test]
    fn gives_dates_around_leap_days() {
        let shown = |unix: f64| date(unix).unwrap();
        assert_eq!(shown(951_782_399.0), "2000-02-28 23:59 UTC");
        assert_eq!(shown(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(shown(951_868_800.0), "2000-03-01 00:00 UTC");
        assert_eq!(shown(1_767_225_599.0), "2025-12-31 23:59 UTC");
        assert_eq!(date(0.0), None);
        assert_eq!(date(f64::NAN), None);
    }

    #[test]
    fn takes_control_characters_out() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
    }
}
