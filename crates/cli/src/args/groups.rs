//! The commands in groups, as the help shows them.

use super::Command;
use blockmill_report::wrap;
use clap::Subcommand;

/// Headings, and the commands below each.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Verify and import", &["verify", "import", "inspect", "check"]),
    ("Convert and export", &["convert", "export"]),
    ("Work with a store", &["prove", "witness", "unwind", "heal"]),
    ("Measure", &["bench", "report", "serve", "test"]),
    ("Try and set up", &["demo", "generate", "completions", "man"]),
];

/// Columns of the names of commands.
const NAMES: usize = 13;
/// Columns of text where the terminal says nothing, and at most.
const WIDTH: usize = 100;

/// The help of the program: what it is, the commands in groups, the general options.
pub fn template() -> String {
    let commands = Command::augment_subcommands(clap::Command::new("blockmill"));
    let width = blockmill_report::width().map_or(WIDTH, |width| width.min(WIDTH));
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        text += &format!("\n{heading}:\n");
        for command in names.iter().filter_map(|name| commands.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let indent = " ".repeat(NAMES + 2);
            let line = format!("  {:<NAMES$}{about}", command.get_name());
            text += &format!("{}\n", wrap(&line, Some(width), &indent));
        }
    }
    text + "\nOptions:\n{options}\n\n`blockmill COMMAND -h` has the usual options of a command, \
            `--help` all of them.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let commands = Command::augment_subcommands(clap::Command::new("blockmill"));
        let mut all: Vec<_> = commands.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
    }
}
