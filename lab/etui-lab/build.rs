//! Compiles the library that `etui lab doctor` preloads into a program, which the laboratory carries
//! in itself: `lab/etui-lab-preload`, a library without dependencies.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "../etui-lab-preload/src";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let library = PathBuf::from(env::var("OUT_DIR")?).join("libetui_lab_preload.so");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let supported = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", "64");
    match supported {
        true => compile_library(&library),
        // The command then counts by strace.
        false => Ok(std::fs::write(&library, b"")?),
    }
}

fn compile_library(library: &Path) -> Result<(), Box<dyn Error>> {
    let mut compiler = Command::new(env::var("RUSTC")?);
    compiler
        .args(["--edition", "2024", "--crate-type", "cdylib"])
        .args(["--crate-name", "etui_lab_preload", "--cap-lints", "allow"])
        .args([
            "-C",
            "panic=abort",
            "-C",
            "opt-level=2",
            "-C",
            "strip=symbols",
        ])
        .args(["--target", &env::var("TARGET")?]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={linker}"));
    }
    let source = Path::new(SOURCE).join("lib.rs");
    let status = compiler.arg("-o").arg(library).arg(&source).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{} was not compiled: {status}", source.display()).into()),
    }
}
