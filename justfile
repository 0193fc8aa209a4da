# Tasks of a developer: `just` lists them. CI runs the same stages (`.ci/run`).

_default:
    @just --list --unsorted

# Generate chains, import them, draw the report
demo:
    cargo run --release -- demo

# Format, lints, documentation
check:
    .ci/run format lint docs

# All tests; real data: BLOCKMILL_FIXTURES=folder
test *FILTER:
    cargo test --workspace {{FILTER}}

# The rules of style, as tests
tidy:
    cargo test -p blockmill-cli -p blockmill-build-once --test tidy

# One benchmark in pairs, for example: just bench headers --ladder
bench +ARGS:
    cargo run --profile dist -p blockmill-bench -- {{ARGS}}

# Is this working tree slower than main?
slower NAME:
    cargo run --profile dist -p blockmill-bench -- {{NAME}} --check main

# Fuzz one target: just fuzz era1
fuzz TARGET:
    cargo +nightly fuzz run {{TARGET}}

# Programs, Debian package, wheel and container image for this machine, tried on a bare Debian
package:
    packaging/build && packaging/deb && packaging/wheel && packaging/image && packaging/smoke
