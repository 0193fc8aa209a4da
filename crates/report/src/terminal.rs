//! Colour on a terminal, and bars of characters.

use anstyle::{AnsiColor, Style};
use std::io::{IsTerminal, stderr, stdout};

/// Fewer columns than these are taken for these.
const LEAST_WIDTH: usize = 30;

/// Columns of the terminal that standard output is, or of the variable `COLUMNS`; `None` where text
/// may be as wide as it is, as in a file.
#[must_use]
pub fn width() -> Option<usize> {
    width_of(stdout())
}

/// The same of standard error.
#[must_use]
pub fn error_width() -> Option<usize> {
    width_of(stderr())
}

fn width_of(output: impl IsTerminal) -> Option<usize> {
    let columns: u16 = match output.is_terminal() {
        true => terminal_size::terminal_size()?.0.0,
        false => std::env::var("COLUMNS").ok()?.parse().ok()?,
    };
    Some(usize::from(columns).max(LEAST_WIDTH))
}

/// `text` in lines of at most `width` columns, of which all but the first begin with `indent`. A
/// word that is longer, such as a path, stays whole, so that it can be copied; a text in lines is
/// left as it is.
#[must_use]
pub fn wrap(text: &str, width: Option<usize>, indent: &str) -> String {
    let Some(width) = width.filter(|_| !text.contains('\n')) else { return text.to_owned() };
    // one long word after an indent has no place to be broken, either
    if textwrap::core::display_width(text) <= width || !text.trim().contains(' ') {
        return text.to_owned();
    }
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).join("\n")
}

/// Whether text may contain colour codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Colour codes are written.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// What standard output can show: no colour when it is not a terminal, or when `NO_COLOR` or
    /// `TERM=dumb` says so; `CLICOLOR_FORCE` forces it.
    pub fn of_stdout() -> Self {
        match anstream::AutoStream::choice(&std::io::stdout()) {
            anstream::ColorChoice::Never => Self::Off,
            _ => Self::On,
        }
    }

    /// `text` in `style`, or as it is.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self {
            Self::On => format!("{style}{text}{style:#}"),
            Self::Off => text.to_owned(),
        }
    }
}

/// For what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// For what failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// For what is good as far as it goes.
pub(crate) const CAUTION: Style = AnsiColor::Yellow.on_default().bold();
/// For what a reader should know.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// For names next to values.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// For headings.
pub(crate) const STRONG: Style = Style::new().bold();

/// A bar of `width` characters, filled to `share` in steps of an eighth.
pub(crate) fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let steps = (share.clamp(0.0, 1.0) * (width * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(steps / 8), EIGHTHS[steps % 8])
}

/// A bar of `width` characters: solid for `share`, dotted for the rest.
pub(crate) fn two_part_bar(share: f64, width: usize) -> String {
    let solid = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "█".repeat(solid), "░".repeat(width - solid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.53125, 4), "██▏");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
        assert_eq!(two_part_bar(0.26, 4), "█░░░");
        assert_eq!(two_part_bar(f64::NAN, 2), "░░");
    }

    #[test]
    fn lines_are_broken_between_words_only() {
        let text = "block 7 of a/long/path/that/has/no/space is wrong";
        let expected = "block 7 of\n  a/long/path/that/has/no/space\n  is wrong";
        assert_eq!(wrap(text, Some(12), "  "), expected);
        assert_eq!(wrap(text, None, "  "), text);
        let word = "    a/long/path/that/has/no/space";
        assert_eq!(wrap(word, Some(12), "    "), word);
        assert_eq!(wrap("two\nlines of text", Some(5), ""), "two\nlines of text");
    }

    #[test]
    fn paints_only_when_asked() {
        assert_eq!(Colour::Off.paint(GOOD, "x"), "x");
        assert_eq!(Colour::On.paint(STRONG, "x"), "\x1b[1mx\x1b[0m");
    }
}
