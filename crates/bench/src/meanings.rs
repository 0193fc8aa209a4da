//! What the settings of definitions mean, and their values that are words: a line for each, as
//! `--list` shows them.

/// A setting and its meaning.
struct Meaning {
    name: &'static str,
    text: &'static str,
    /// Values that are words, with what each means.
    values: &'static [(&'static str, &'static str)],
}

const fn plain(name: &'static str, text: &'static str) -> Meaning {
    Meaning { name, text, values: &[] }
}

/// What the setting `name` means; `None` if it is unknown.
#[must_use]
pub fn of_setting(name: &str) -> Option<&'static str> {
    SETTINGS.iter().find(|known| known.name == name).map(|known| known.text)
}

/// What `value` of the setting `name` means; `None` for numbers, paths and the like.
#[must_use]
pub fn of_value(name: &str, value: &str) -> Option<&'static str> {
    let setting = SETTINGS.iter().find(|known| known.name == name)?;
    setting.values.iter().find(|(known, _)| *known == value).map(|(_, text)| *text)
}

/// All settings of all workloads, by name.
const SETTINGS: &[Meaning] = &[
    plain("accounts", "accounts that send and receive"),
    Meaning {
        name: "ahead",
        text: "how pages are read before they are needed",
        values: &[
            ("io_uring", "many reads in flight, submitted together"),
            ("threads", "blocking reads on several threads"),
            ("off", "each page when it is needed"),
        ],
    },
    plain("among", "the instructions that are combined: all, or these names"),
    plain("assume-valid", "scripts are taken as valid up to the tip, or are all run (no)"),
    plain("batch", "signatures that are checked together"),
    plain("block", "a file with the block that is repeated; empty: one is generated"),
    plain("block-transactions", "transactions in a block"),
    plain("block-transfers", "most transfers in a block"),
    plain("blocks", "how many blocks"),
    plain("cache-mib", "memory for caches, in MiB"),
    Meaning {
        name: "case",
        text: "the object that is encoded or hashed",
        values: &[
            ("transaction", "one signed transaction"),
            ("header", "one header"),
            ("headers-1280", "1,280 headers, each alone"),
            ("block-80", "a block of 80 transactions"),
            ("block-1280", "a block of 1,280 transactions"),
            ("transactions-80", "a list of 80 transactions"),
            ("transactions-1280", "a list of 1,280 transactions"),
        ],
    },
    plain("chain", "the chain family"),
    plain("code-bytes", "size of the code that repeats an operation, in bytes"),
    plain("coins", "coins that are left at the end; empty: those that are not spent"),
    Meaning {
        name: "contracts",
        text: "how slots are divided among contracts",
        values: &[
            ("one", "all slots in one contract"),
            ("many", "a hundred slots in each contract"),
            ("none", "accounts without slots"),
        ],
    },
    plain("data", "the kind of input, generated or given"),
    plain("digest", "whether a digest of all results is an answer"),
    Meaning {
        name: "draw",
        text: "how keys are chosen",
        values: &[
            ("uniform", "each with the same probability"),
            ("skewed", "four of five operations are on one key of five"),
        ],
    },
    plain("every", "one block in so many has transactions"),
    Meaning {
        name: "fork",
        text: "the rules of the chain",
        values: &[("osaka", "Ethereum's fork Osaka"), ("amsterdam", "Ethereum's fork Amsterdam")],
    },
    plain("format", "the format of the archive"),
    plain("from", "the block files to shuffle"),
    plain("gas", "gas of a program"),
    plain("gb", "size of the block files, in GB"),
    plain("genesis", "the network, or a file with its genesis block"),
    plain("headers", "how many headers"),
    Meaning {
        name: "input",
        text: "the signatures of a batch",
        values: &[
            ("good", "all valid"),
            ("undecided", "all go from the lanes to the library"),
            ("half-undecided", "half of them go from the lanes to the library"),
        ],
    },
    plain("inputs", "inputs that are spent"),
    plain("keys", "keys in the database"),
    Meaning {
        name: "layout",
        text: "how a state is stored",
        values: &[
            ("table", "keys and values in sorted tables"),
            ("pages", "pages with references to trie nodes"),
            ("flat-trie", "flat values, and trie nodes by their paths"),
        ],
    },
    plain("leaves", "accounts and slots in the snapshot"),
    Meaning {
        name: "level",
        text: "how deeply blocks are verified",
        values: &[
            ("headers", "linkage, header rules, seals"),
            ("bodies", "also transactions and their senders"),
            ("execution", "also execution and state roots"),
        ],
    },
    plain("memory-bytes-per-key", "memory for caches and changes, in bytes for each key"),
    plain("memory-mib", "memory for caches and changes, in MiB"),
    plain("min-ms", "the shortest sample, in ms"),
    Meaning {
        name: "op",
        text: "the operation",
        values: &[
            ("load", "writes all keys in order, as a bulk load"),
            ("fill", "writes all keys in random order"),
            ("get", "reads one key after the other"),
            ("get-absent", "looks for keys that are not there"),
            ("get-many", "reads keys in batches"),
            ("scan", "reads ranges of keys"),
            ("update", "changes keys in batches"),
            ("blocks", "makes the changes of one block after the other durable"),
            ("encode", "encodes into new memory"),
            ("encode-reused", "encodes into memory that is kept"),
            ("hash", "hashes the encoding, with new memory"),
            ("hash-reused", "hashes the encoding, with memory that is kept"),
            ("hash-each", "hashes each object of a list"),
        ],
    },
    Meaning {
        name: "operation",
        text: "what is computed of a signature",
        values: &[
            ("ecdsa", "verifies ECDSA on secp256k1, compressed keys"),
            ("ecdsa-uncompressed", "verifies ECDSA on secp256k1, uncompressed keys"),
            ("schnorr", "verifies Schnorr signatures (BIP 340)"),
            ("tweaks", "checks keys of Taproot (BIP 341)"),
            ("recover", "recovers the key of an ECDSA signature"),
            ("p256", "verifies ECDSA on P-256"),
            ("p256-repeated", "verifies ECDSA on P-256, with a few keys that sign repeatedly"),
        ],
    },
    plain("page-cache", "warm, or cold: what a run reads is dropped from the cache before"),
    plain("paths", "files or folders with the input"),
    Meaning {
        name: "programs",
        text: "the programs that are executed",
        values: &[
            ("instructions", "each instruction"),
            ("precompiles", "each precompiled contract"),
            ("published", "worst cases that others have published"),
            ("pairs", "each instruction after each other one"),
            ("triples", "each sequence of three instructions"),
        ],
    },
    plain("references-mib", "most memory for references and upper trie levels, in MiB, or all"),
    plain("rounds", "how many times a run executes all blocks"),
    plain("samples", "samples of an operation"),
    plain("seal", "which seals are verified"),
    plain("seed", "number from which random data is generated"),
    plain("slots", "storage slots of the contract"),
    plain("slow-down", "share of a run by which a busy loop makes it longer"),
    plain("state-roots", "whether headers have state roots"),
    plain("tables", "tables that are written"),
    plain("threads", "threads of a run; 0: one for each core"),
    plain("transfers", "how many transfers"),
    plain("txs", "transactions in a block"),
    plain("until", "last block of a step; each step continues the store of the one before"),
    plain("unusual", "inputs of no usual form"),
    Meaning {
        name: "verify",
        text: "what is verified of transactions",
        values: &[("full", "everything"), ("none", "nothing: everything is assumed valid")],
    },
    plain("with", "options that every run has"),
    Meaning {
        name: "work",
        text: "what transactions do",
        values: &[
            ("transfers", "transfer ether"),
            ("erc20", "transfer a token"),
            ("storage", "read and write slots until their gas is used up"),
            ("compute", "hash and calculate until their gas is used up"),
            ("mixed", "everything that the fork has"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;
    use std::path::Path;

    #[test]
    fn settings_are_sorted_and_have_short_texts() {
        assert!(SETTINGS.is_sorted_by(|a, b| a.name < b.name));
        for one in SETTINGS {
            for text in one.values.iter().map(|(_, text)| *text).chain([one.text]) {
                assert!(!text.is_empty() && text.len() < 72 && !text.ends_with('.'), "{text}");
            }
        }
    }

    #[test]
    fn every_setting_and_every_case_of_a_definition_has_a_meaning() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks/definitions");
        let all = Definition::all(&folder).unwrap();
        assert!(all.len() > 50, "{}", all.len());
        for one in all {
            let lists = one.matrix.iter().chain(&one.steps);
            let names = one.settings.keys().chain(lists.clone().map(|(name, _)| name));
            for name in names {
                assert!(of_setting(name).is_some(), "{}: {name}", one.name);
            }
            for (name, value) in lists.flat_map(|(name, all)| all.iter().map(move |it| (name, it)))
            {
                let is_word = value.parse::<f64>().is_err() && value != "all";
                assert!(!is_word || of_value(name, value).is_some(), "{}: {value}", one.name);
            }
        }
    }
}
