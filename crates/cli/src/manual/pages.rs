//! What the pages of `blockmill` have that its command line does not give.

use super::Page;

/// One for each command, by its path.
pub const PAGES: &[Page] = &[
    Page {
        command: "blockmill",
        see: &["blockmill-bench"],
        examples: &[
            ("Is this archive complete and valid?", "blockmill verify /data/era1"),
            ("Try the program on a small generated chain:", "blockmill demo"),
        ],
    },
    Page {
        command: "blockmill import",
        see: &["blockmill verify", "blockmill check", "blockmill convert", "blockmill unwind"],
        examples: &[
            (
                "Verify block files and keep them:",
                "blockmill import ~/.bitcoin/blocks --data store",
            ),
            (
                "Import what a node writes, until Ctrl-C:",
                "blockmill import --follow ~/.bitcoin/blocks --data store --serve",
            ),
            (
                "Execute a chain export from its genesis:",
                "blockmill import chain.rlp --chain genesis.json --level execution --data store",
            ),
        ],
    },
    Page {
        command: "blockmill verify",
        see: &["blockmill inspect", "blockmill import", "blockmill check"],
        examples: &[
            (
                "Check all headers, and the seal of one in a thousand:",
                "blockmill verify /data/era1 --level headers --seal 1/1000",
            ),
            (
                "Check a range that may have gaps:",
                "blockmill verify --from 1000 --partial chain.rlp",
            ),
            (
                "Verify two parts on different machines, and merge their summaries:",
                "blockmill verify --shard mainnet-00000-5ec1ffb8.era1\n\
                 blockmill verify --shard mainnet-00001-a5364e9a.era1\n\
                 blockmill verify --merge first.json second.json",
            ),
        ],
    },
    Page {
        command: "blockmill inspect",
        see: &["blockmill verify", "blockmill check"],
        examples: &[
            ("Which chain and which blocks are in these files?", "blockmill inspect /data/era1"),
            ("Read and decode every record:", "blockmill inspect --deep chain.acc --json"),
        ],
    },
    Page {
        command: "blockmill check",
        see: &["blockmill import", "blockmill heal", "blockmill unwind"],
        examples: &[
            ("Read all of a store:", "blockmill check store"),
            ("Repair what can be repaired:", "blockmill check store --repair"),
        ],
    },
    Page {
        command: "blockmill unwind",
        see: &["blockmill import", "blockmill check"],
        examples: &[("Roll back to block 1000000:", "blockmill unwind store --to 1000000")],
    },
    Page {
        command: "blockmill witness",
        see: &["blockmill verify", "blockmill prove"],
        examples: &[
            ("Execute one block from its witness:", "blockmill witness block.json"),
            ("Execute all blocks of a folder:", "blockmill witness folder --threads 8"),
            (
                "Write the witness of a block:",
                "blockmill witness store --block 21000000 --out block.json",
            ),
        ],
    },
    Page {
        command: "blockmill heal",
        see: &["blockmill check"],
        examples: &[("Repair a flat+trie state from its redundant copy:", "blockmill heal store")],
    },
    Page {
        command: "blockmill prove",
        see: &["blockmill import", "blockmill witness"],
        examples: &[(
            "Prove an account and a slot of its storage:",
            "blockmill prove store --account 0x00000000219ab540356cbb839cbe05303d7705fa --slot 0x0",
        )],
    },
    Page {
        command: "blockmill test",
        see: &["blockmill witness"],
        examples: &[("Run a folder of public tests:", "blockmill test fixtures/blockchain_tests")],
    },
    Page {
        command: "blockmill convert",
        see: &["blockmill import", "blockmill export"],
        examples: &[
            (
                "Write a datadir that Bitcoin Core opens:",
                "blockmill convert ~/blocks --to core --out datadir",
            ),
            ("Write Era1 files:", "blockmill convert chain.rlp --to era1 --out era1"),
            (
                "Give ere files to a client that reads none:",
                "blockmill convert X.ere --to rlp --out X.rlp",
            ),
        ],
    },
    Page {
        command: "blockmill export",
        see: &["blockmill verify", "blockmill convert"],
        examples: &[
            (
                "Write verified blocks and transactions as Parquet files:",
                "blockmill export /data/era1 --tables blocks,transactions --to tables",
            ),
            (
                "Add the blocks that the archive has by now:",
                "blockmill export /data/era1 --tables blocks,transactions --to tables --append",
            ),
        ],
    },
    Page {
        command: "blockmill bench",
        see: &["blockmill-bench", "blockmill report"],
        examples: &[("List what can be measured:", "blockmill bench --list")],
    },
    Page {
        command: "blockmill generate",
        see: &["blockmill demo"],
        examples: &[(
            "Generate a million headers:",
            "blockmill generate ethereum --headers 1000000 --out headers.rlp",
        )],
    },
    Page {
        command: "blockmill generate ethereum",
        see: &["blockmill generate bitcoin", "blockmill generate neo"],
        examples: &[(
            "Generate a chain of token transfers that can be executed:",
            "blockmill generate ethereum --work erc20 --blocks 100 --out chain",
        )],
    },
    Page {
        command: "blockmill generate bitcoin",
        see: &["blockmill generate ethereum", "blockmill generate neo"],
        examples: &[(
            "Generate block files with 20000 signed inputs:",
            "blockmill generate bitcoin --inputs 20000 --blocks 300 --out blocks",
        )],
    },
    Page {
        command: "blockmill generate neo",
        see: &["blockmill generate ethereum", "blockmill generate bitcoin"],
        examples: &[(
            "Generate a dump with all kinds of transactions:",
            "blockmill generate neo --blocks 200 --txs 100 --mixed --out dump",
        )],
    },
    Page {
        command: "blockmill report",
        see: &["blockmill import", "blockmill serve"],
        examples: &[(
            "Draw the runs of a store as one page:",
            "blockmill report store/records --out report",
        )],
    },
    Page {
        command: "blockmill serve",
        see: &["blockmill report"],
        examples: &[(
            "Show a run to Prometheus:",
            "blockmill serve run.json --address 127.0.0.1:9333",
        )],
    },
    Page {
        command: "blockmill demo",
        see: &["blockmill generate", "blockmill report"],
        examples: &[("Choose the folder:", "blockmill demo --out demo")],
    },
    Page {
        command: "blockmill completions",
        see: &["blockmill man"],
        examples: &[("Complete in bash:", "blockmill completions bash")],
    },
    Page {
        command: "blockmill man",
        see: &["blockmill completions"],
        examples: &[("Write the manual:", "blockmill man ~/.local/share/man/man1")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    /// The paths of a command and of those below it.
    fn paths(command: &clap::Command, before: &str, found: &mut Vec<String>) {
        let path = format!("{before}{}", command.get_name());
        command.get_subcommands().for_each(|below| paths(below, &format!("{path} "), found));
        found.push(path);
    }

    #[test]
    fn each_command_has_a_page_with_examples_that_it_understands() {
        let mut commands = vec![];
        paths(&Cli::command(), "", &mut commands);
        let mut described: Vec<_> = PAGES.iter().map(|page| page.command.to_owned()).collect();
        commands.sort();
        described.sort();
        assert_eq!(described, commands);
        for page in PAGES {
            let see = page.see.iter().filter(|&&name| name != "blockmill-bench");
            see.for_each(|&name| assert!(commands.contains(&name.to_owned()), "{name}"));
            assert!(!page.examples.is_empty(), "{}", page.command);
            for line in page.examples.iter().flat_map(|(_, lines)| lines.lines()) {
                assert!(line.starts_with("blockmill "), "{line}");
                let parsed = Cli::try_parse_from(line.split_whitespace());
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
    }
}
