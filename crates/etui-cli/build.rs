//! Tells the program the cargo profile that it is built by, which the demo prints beside its times.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo has no variable for it: `PROFILE` is `release` for every optimised one. The folder of
    // this script's output is PROFILE/build/NAME/out.
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = out.rsplit(['/', '\\']).nth(3).unwrap_or_default();
    let profile = if profile == "debug" { "dev" } else { profile };
    println!("cargo::rustc-env=ETUI_PROFILE={profile}");
}
