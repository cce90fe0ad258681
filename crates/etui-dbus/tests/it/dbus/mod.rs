//! The service over a real private bus: every method, errors, limits, views, private connections.

mod direct;
mod import;
mod kinds;
mod life;
mod records;
mod support;
mod views;
