# The commands of CONTRIBUTING.md: `just` lists them.

# The laboratory is a workspace of its own that builds into the same folder.
target := env("CARGO_TARGET_DIR", justfile_directory() / "target")

# So that arguments with spaces stay whole ("$@").
set positional-arguments

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
    cargo fmt --all --check --manifest-path lab/Cargo.toml
    ./scripts/import-cycles
    cargo clippy --workspace --all-targets --locked -- -D warnings
    CARGO_TARGET_DIR={{target}} cargo clippy --manifest-path lab/Cargo.toml --workspace --all-targets --locked -- -D warnings

# Builds the reference of the crates
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
    CARGO_TARGET_DIR={{target}} RUSTDOCFLAGS="-D warnings" cargo doc --manifest-path lab/Cargo.toml --workspace --no-deps --locked

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
    CARGO_TARGET_DIR={{target}} cargo run --profile dist --locked --manifest-path lab/Cargo.toml -- "$@"

# Compares etui with servers, players and searches (results in lab/etui-lab/): just bench run searches
bench *args:
    CARGO_TARGET_DIR={{target}} cargo bench --profile dist --locked --manifest-path lab/Cargo.toml --bench comparisons -- "$@"

# Runs everything that a change must pass
ci:
    .ci/run
