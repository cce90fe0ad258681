# The commands of CONTRIBUTING.md: `just` lists them.

_default:
    @just --list

# Runs etui of a debug build: just run contacts list
run *args:
    cargo run --locked -- {{args}}

# Runs all tests, or those of one crate: just test -p etui
test *args:
    ./scripts/test {{args}}

# Checks formatting, layers and lints
lint:
    cargo fmt --all --check
    ./scripts/import-cycles
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Builds the reference of the crates
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Writes the listing of the library's public interface, docs/public-api.txt
api:
    ./scripts/public-api

# Runs the fuzz targets: just fuzz split 600
fuzz *args:
    ./scripts/fuzz {{args}}

# Compares system calls, bytes and instructions with the baseline
counters *args:
    ./scripts/counters {{args}}

# Runs an experiment of the laboratory: just lab run phonebook
lab *args:
    cargo run --profile dist --locked -p etui-lab -- {{args}}

# Runs everything that a change must pass
ci:
    .ci/run
