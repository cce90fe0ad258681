//! Synchronisation with `etui serve`, and with servers that behave as others are known to.

mod feeds;
mod folders;
mod histories;
mod http;
mod oauth;
mod program;
mod proxy;
mod scripted;
mod servers;
mod world;
