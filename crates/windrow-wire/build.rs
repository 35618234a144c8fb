//! Compiles `proto/` into the types and services of [`grpc`](src/grpc/mod.rs), without protoc.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

const PROTOS: &str = "../../proto";
const FILES: [&str; 2] = ["windrow/v1/scheduler.proto", "windrow/v1/worker.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTOS}");
    let descriptors = protox::compile(FILES, [PROTOS])?;
    let out: PathBuf = std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?.into();
    // For reflection: a client can ask the server what it understands.
    std::fs::write(out.join("windrow.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
