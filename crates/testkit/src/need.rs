//! The needs of tests that are not in this repository. The crate of the attribute compiles this
//! file, too, so that the reason for ignoring a test and the one for its failure are the same.

/// The variable that turns ignored tests into failing ones. With `1` all but those that need
/// programs of others that are long to build; with `all` those, too.
pub const REQUIRE: &str = "BLOCKMILL_REQUIRE";

/// Something outside of this repository that an environment variable names.
pub struct Need {
    /// Its name in `#[needs(...)]`.
    pub name: &'static str,
    /// The environment variable that names it.
    pub variable: &'static str,
    /// A description.
    pub what: &'static str,
    /// Instructions to get it.
    pub how: &'static str,
    /// Whether it is a program of others, which takes minutes and other compilers to build.
    pub is_built: bool,
}

/// All needs.
pub const NEEDS: [Need; 12] = [
    Need {
        name: "fixtures",
        variable: "BLOCKMILL_FIXTURES",
        what: "real chain data",
        how: "set it to the folder of fixtures, which has `ethereum` and `bitcoin` in it",
        is_built: false,
    },
    Need {
        name: "cases",
        variable: "BLOCKMILL_CASES",
        what: "the inputs that earlier programs answered wrongly",
        how: "set it to the folder of cases, next to that of fixtures",
        is_built: false,
    },
    Need {
        name: "core_source",
        variable: "BLOCKMILL_CORE_SOURCE",
        what: "the sources of Bitcoin Core",
        how: "run `cargo fetch --manifest-path benchmarks/peers/bitcoin-core/Cargo.toml` and \
              set it to `bitcoin/src` in the crate libbitcoinkernel-sys 0.4.1 of Cargo's registry",
        is_built: false,
    },
    Need {
        name: "core_peer",
        variable: "BLOCKMILL_CORE_PEER",
        what: "the peer that runs Bitcoin Core's own code",
        how: "build it as benchmarks/peers/bitcoin-core/README.md says and set it to the program",
        is_built: true,
    },
    Need {
        name: "neo_random",
        variable: "BLOCKMILL_NEO_RANDOM",
        what: "the program that makes random chains with neo-go",
        how: "build it as benchmarks/peers/neo-go/README.md says and set it to the program",
        is_built: true,
    },
    Need {
        name: "p256_source",
        variable: "BLOCKMILL_P256_SOURCE",
        what: "the sources of the crate p256",
        how: "run `cargo fetch` and set it to the crate p256 0.13.2 in Cargo's registry",
        is_built: false,
    },
    Need {
        name: "ring_source",
        variable: "BLOCKMILL_RING_SOURCE",
        what: "the sources of the crate ring",
        how: "fetch the crate ring 0.17 and set it to its folder in Cargo's registry",
        is_built: false,
    },
    Need {
        name: "chromium",
        variable: "BLOCKMILL_CHROMIUM",
        what: "the browser Chromium",
        how: "install it (Debian's package is called chromium) and set it to the program",
        is_built: false,
    },
    Need {
        name: "prometheus",
        variable: "BLOCKMILL_PROMETHEUS",
        what: "Prometheus",
        how: "install it (Debian's package is called prometheus) and set it to the program",
        is_built: false,
    },
    Need {
        name: "tables_python",
        variable: "BLOCKMILL_TABLES_PYTHON",
        what: "a Python with DuckDB and Polars",
        how: "make a virtual environment, install duckdb and polars in it with pip, and set it to \
              its `bin/python`",
        is_built: false,
    },
    Need {
        name: "moto",
        variable: "BLOCKMILL_MOTO",
        what: "moto, a server of the protocol of S3",
        how: "make a virtual environment, install moto[s3,server] in it with pip, and set it to \
              its `bin/moto_server`",
        is_built: false,
    },
    Need {
        name: "peers",
        variable: "BLOCKMILL_PEERS_DIR",
        what: "the peers of the benchmarks, built",
        how: "set it to a folder where they may be built and kept (benchmarks/peers.toml)",
        is_built: true,
    },
];

impl Need {
    /// The need that is called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        NEEDS.iter().find(|need| need.name == name)
    }

    /// Whether it is required with this value of the variable.
    pub fn is_required(&self, value: Option<&str>) -> bool {
        value == Some("all") || (value == Some("1") && !self.is_built)
    }

    /// The reason why a test cannot run, and what to do.
    pub fn reason(&self) -> String {
        format!("needs {}: {} is not set; {}", self.what, self.variable, self.how)
    }
}
