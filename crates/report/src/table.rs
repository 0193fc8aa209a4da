//! One table, shown three ways: on a terminal, as markdown and as HTML.

use comfy_table::{
    Attribute, Cell as TermCell, CellAlignment, Color, ContentArrangement, LineStyle, TableStyle,
};
use maud::{Markup, html};

use crate::format::{self, printable};
use crate::terminal::{self, Colour};
use textwrap::core::display_width;

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

    /// For a terminal of `width` columns. The last columns of the table are left out where there is
    /// no room for them, and named below it; the first two are always there.
    pub fn within(&self, colour: Colour, width: Option<usize>) -> String {
        let shown = width.map_or(self.heads.len(), |width| self.columns_within(width));
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        if let Some(columns) = width.and_then(|width| u16::try_from(width).ok()) {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
        }
        match colour {
            Colour::On => table.enforce_styling(),
            Colour::Off => table.force_no_tty(),
        };
        let align = |cell: TermCell, column| match self.is_left(column) {
            true => cell,
            false => cell.set_alignment(CellAlignment::Right),
        };
        table.set_header(self.heads.iter().take(shown).enumerate().map(|(column, head)| {
            align(TermCell::new(printable(head)).add_attribute(Attribute::Bold), column)
        }));
        for row in &self.rows {
            let cells = row.iter().take(shown).enumerate();
            table.add_row(cells.map(|(column, cell)| align(cell.for_terminal(), column)));
        }
        let mut text = table.trim_fmt();
        text.push('\n');
        let left_out = self.heads[shown..].join(", ");
        let left_out = format!("A wider terminal shows also: {left_out}.");
        let left_out = (shown < self.heads.len()).then_some(left_out);
        for note in left_out.iter().chain(&self.notes) {
            text.push_str(&terminal::wrap(&printable(note), width, ""));
            text.push('\n');
        }
        text
    }

    /// How many columns `width` has room for, with one space on each side of a cell.
    fn columns_within(&self, width: usize) -> usize {
        let mut used = 0;
        let fits = |column: &usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(*column)).map(Cell::width);
            used += 2 + cells.chain([display_width(&self.heads[*column])]).max().unwrap_or(0);
            used <= width
        };
        (0..self.heads.len()).take_while(fits).count().max(2.min(self.heads.len()))
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
            div.scroll { table {
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
    /// Columns that it takes on a terminal.
    fn width(&self) -> usize {
        let small = self.small.as_deref().map_or(0, display_width);
        display_width(&self.text).max(small)
    }

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
    fn columns_without_room_are_left_out_and_named() {
        let mut wide = Table::new(&["step", "total s", "threads", "memory", "notes"]);
        wide.rows
            .push(["execute", "1.5", "2", "12 MB", &"words ".repeat(9)].map(Cell::from).into());
        wide.notes.push("a note that is longer than the terminal is wide".into());
        for width in [30, 40, 80, 160] {
            let text = wide.within(Colour::Off, Some(width));
            assert!(text.lines().all(|line| display_width(line) <= width), "{width}\n{text}");
            assert!(text.contains("execute") && text.contains("1.5"), "{text}");
            assert_eq!(text.contains("also: notes."), width < 80, "{text}");
            assert_eq!(text.contains("12 MB"), width > 36, "{text}");
        }
        assert!(!wide.within(Colour::Off, None).contains("wider"));
    }

    #[test]
    fn html_escapes_cells() {
        let text = table().html().into_string();
        assert!(text.contains("a|&lt;b&gt;") && !text.contains("<b>"), "{text}");
        assert!(text.contains("data-sort=\"1.5\""), "{text}");
    }
}
