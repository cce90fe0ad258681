//! Synchronisation with `etui serve`, and with servers that behave as others are known to.

mod histories;
mod proxy;
mod scripted;
mod servers;
mod world;
