//! Synchronisation with `etui serve`, with other servers, and with one that behaves as servers are known to; subscriptions,
//! folders, the program.

mod dav;
mod feeds;
mod folders;
mod histories;
mod http;
mod oauth;
mod place;
mod products;
mod program;
mod providers;
mod proxy;
mod scripted;
mod servers;
mod vdirsyncer;
mod world;
