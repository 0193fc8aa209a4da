//! One table, shown three ways: on a terminal, as markdown and as HTML.

use comfy_table::{
    Attribute, Cell as TermCell, CellAlignment, Color, ColumnConstraint, ContentArrangement,
    LineStyle, TableStyle, Width,
};
use maud::{Markup, html};

use crate::format::{self, printable};
use crate::terminal::{self, Colour};

/// A table with one heading row. The first column and those in `left` are set to the left, the
/// others, which hold numbers, to the right.
pub struct Table {
    /// The heading row.
    pub heads: Vec<String>,
    /// The rows below it.
    pub rows: Vec<Vec<Cell>>,
    /// Further columns of words.
    pub left: Vec<usize>,
    /// Lines below the table.
    pub notes: Vec<String>,
}

/// A line above, below and under the headings, and nothing else.
const STYLE: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);
/// The spaces at both sides of a cell.
const PADDING: usize = 2;
/// A longer word is broken where a terminal is narrow.
const LONGEST_WORD: usize = 14;
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

/// How a cell is set off from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Mark {
    /// Not at all.
    #[default]
    Plain,
    /// Bold.
    Strong,
    /// As something good.
    Good,
    /// As something bad.
    Bad,
    /// As something that only explains.
    Faint,
}

/// One cell: a text, and below it in small print a second one, such as a range.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// A second text in small print.
    pub small: Option<String>,
    /// How it is set off.
    pub mark: Mark,
    /// By what the column is sorted; its text where there is none.
    pub sort: Option<f64>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// The cell, set off so.
    #[must_use]
    pub fn marked(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// The cell, sorted by this number.
    #[must_use]
    pub fn sorted(self, by: f64) -> Self {
        Self { sort: Some(by), ..self }
    }

    /// A time.
    pub fn of_seconds(seconds: f64) -> Self {
        Self::from(format::duration(seconds)).sorted(seconds)
    }

    /// A part of a whole, in percent.
    pub fn of_share(share: f64) -> Self {
        Self::from(format::percent(share)).sorted(share)
    }
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(heads: &[&str]) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { heads, rows: Vec::new(), left: Vec::new(), notes: Vec::new() }
    }

    fn is_left(&self, column: usize) -> bool {
        column == 0 || self.left.contains(&column)
    }

    /// For the terminal that standard output is; ends with a line break.
    pub fn terminal(&self, colour: Colour) -> String {
        self.within(colour, terminal::width())
    }

    /// For a terminal of so many columns. The last columns of the table are left out where there is
    /// no room for them, and named below it.
    fn within(&self, colour: Colour, width: Option<usize>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        let shown = self.shown(width.unwrap_or(usize::MAX));
        match colour {
            Colour::On => table.enforce_styling(),
            Colour::Off => table.force_no_tty(),
        };
        let align = |cell: TermCell, column| match self.is_left(column) {
            true => cell,
            false => cell.set_alignment(CellAlignment::Right),
        };
        table.set_header(self.heads.iter().enumerate().take(shown).map(|(column, head)| {
            align(TermCell::new(printable(head)).add_attribute(Attribute::Bold), column)
        }));
        for row in &self.rows {
            let cells = row.iter().enumerate().take(shown);
            table.add_row(cells.map(|(column, cell)| align(cell.for_terminal(), column)));
        }
        let widths = width.map(|room| self.widths(shown, room)).unwrap_or_default();
        for (column, wide) in widths.into_iter().enumerate() {
            if let Some(column) = table.column_mut(column) {
                let wide = Width::Fixed(wide.try_into().unwrap_or(u16::MAX));
                column.set_constraint(ColumnConstraint::Absolute(wide));
            }
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        if shown < self.heads.len() {
            let hidden = self.heads[shown..].iter().filter(|head| !head.is_empty());
            let hidden: Vec<String> = hidden.map(|head| printable(head)).collect();
            let hidden = format!("Not shown in so few columns: {}.", hidden.join(", "));
            text.push_str(&terminal::wrap(&hidden, width, ""));
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&terminal::wrap(&printable(note), width, ""));
            text.push('\n');
        }
        text
    }

    /// The longest word of a column, up to which it can be narrowed; a long one is broken.
    fn word(&self, column: usize) -> usize {
        let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max();
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let texts = cells.flat_map(|cell| [Some(cell.text.as_str()), cell.small.as_deref()]);
        let head = self.heads.get(column).map(String::as_str);
        let words = texts.chain([head]).flatten().filter_map(longest);
        words.max().unwrap_or(0).min(LONGEST_WORD)
    }

    /// The widest line of a column.
    fn line(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let texts = cells.flat_map(|cell| [Some(cell.text.as_str()), cell.small.as_deref()]);
        let head = self.heads.get(column).map(String::as_str);
        texts.chain([head]).flatten().map(|text| text.chars().count()).max().unwrap_or(0)
    }

    /// The widths of the first columns within `room`: each has room for its longest word, and what
    /// is left is shared among those that need more.
    fn widths(&self, shown: usize, room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..shown).map(|column| self.word(column) + PADDING).collect();
        let separators = shown.saturating_sub(1);
        let mut left = room.saturating_sub(widths.iter().sum::<usize>() + separators);
        let needs = (0..shown).map(|at| (self.line(at) + PADDING).saturating_sub(widths[at]));
        let mut order: Vec<(usize, usize)> = needs.zip(0..).collect();
        order.sort_unstable();
        for (place, (need, column)) in order.iter().enumerate() {
            let more = (left / (order.len() - place)).min(*need);
            widths[*column] += more;
            left -= more;
        }
        widths
    }

    /// How many columns fit, the first ones first: at least two.
    fn shown(&self, room: usize) -> usize {
        let mut used = 0;
        let fits = |column: &usize| {
            // a space separates columns
            used += self.word(*column) + PADDING + usize::from(*column > 0);
            used <= room || *column < 2
        };
        (0..self.heads.len()).take_while(fits).count()
    }

    /// As a GitHub-flavoured markdown table; ends with a line break.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.heads.iter().map(|head| markdown_escape(head)).collect());
        let rule = |column| if self.is_left(column) { "---" } else { "---:" };
        text += &line((0..self.heads.len()).map(|column| rule(column).to_owned()).collect());
        for row in &self.rows {
            text += &line(row.iter().map(Cell::markdown).collect());
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            text += &format!("- {}\n", markdown_escape(note));
        }
        text
    }

    /// As HTML.
    pub fn html(&self) -> Markup {
        let align = |column| if self.is_left(column) { "l" } else { "r" };
        html! {
            div.scroll tabindex="0" { table {
                thead { tr {
                    @for (column, head) in self.heads.iter().enumerate() {
                        th scope="col" class=(align(column)) { (head) }
                    }
                } }
                tbody {
                    @for row in &self.rows { tr {
                        @for (column, cell) in row.iter().enumerate() {
                            td class=(format!("{} {}", align(column), cell.mark.class()))
                                data-sort=[cell.sort] {
                                (cell.text)
                                @if let Some(small) = &cell.small { small { (small) } }
                            }
                        }
                    } }
                }
            } }
            @for note in &self.notes { p.note { (note) } }
        }
    }
}

impl Mark {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "strong",
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Faint => "faint",
        }
    }
}

impl Cell {
    fn for_terminal(&self) -> TermCell {
        let mut text = printable(&self.text);
        if let Some(small) = &self.small {
            text.push('\n');
            text += &printable(small);
        }
        let cell = TermCell::new(text);
        match self.mark {
            Mark::Plain => cell,
            Mark::Strong => cell.add_attribute(Attribute::Bold),
            Mark::Good => cell.fg(Color::Green).add_attribute(Attribute::Bold),
            Mark::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
            Mark::Faint => cell.add_attribute(Attribute::Dim),
        }
    }

    fn markdown(&self) -> String {
        let mut text = markdown_escape(&self.text);
        if [Mark::Good, Mark::Bad, Mark::Strong].contains(&self.mark) {
            text = format!("**{text}**");
        }
        if let Some(small) = &self.small {
            text += &format!(" ({})", markdown_escape(small));
        }
        text
    }
}

/// `text` with a backslash before each character that markdown or the HTML in it would take for
/// its own.
pub fn markdown_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '#' | '~') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["step", "total s"]);
        table.rows.push(vec![
            "a|<b>".into(),
            Cell { small: Some("1..2".into()), ..Cell::from("1.5").marked(Mark::Good).sorted(1.5) },
        ]);
        table.notes.push("note\x1b[1m".into());
        table
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let expected = "| step | total s |\n| --- | ---: |\n| a\\|\\<b\\> | **1.5** (1..2) |\n\n\
                        - note\u{fffd}\\[1m\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn terminal_shows_no_escape_codes_without_colour() {
        let text = table().terminal(Colour::Off);
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(text.contains("1.5") && text.contains("1..2"));
        assert!(table().terminal(Colour::On).contains("\x1b["));
    }

    #[test]
    fn a_terminal_is_wide_enough_for_every_table() {
        let mut table = table();
        table.heads.extend(["a column of words", "another one"].map(String::from));
        for row in &mut table.rows {
            row.extend(["some words that take a line", "1,234,567"].map(Cell::from));
            row.extend(["████████████████████████", "12 MB", "45 %", "busy"].map(Cell::from));
        }
        table.heads.extend(["solid: busy, dotted: waiting", "bytes", "busy", ""].map(String::from));
        for columns in [40, 80, 160] {
            let text = table.within(Colour::Off, Some(columns));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns, "{widest} of {columns}:\n{text}");
            assert!(text.contains("1,234,567"), "{text}");
        }
    }

    #[test]
    fn html_escapes_cells() {
        let text = table().html().into_string();
        assert!(text.contains("a|&lt;b&gt;") && !text.contains("<b>"), "{text}");
        assert!(text.contains("data-sort=\"1.5\""), "{text}");
    }
}
