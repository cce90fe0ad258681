//! Synchronisation with `etui serve`, with other servers, and with one that behaves as servers are known to.

mod dav;
mod histories;
mod place;
mod products;
mod proxy;
mod scripted;
mod servers;
mod vdirsyncer;
mod world;
