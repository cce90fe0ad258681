//! The service over a real private bus: every method, errors, limits, views, private connections.

mod books;
mod collections;
mod direct;
mod examples;
mod import;
mod kinds;
mod life;
mod media;
mod records;
mod steps;
mod support;
mod views;
