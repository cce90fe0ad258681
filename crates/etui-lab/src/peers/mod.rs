//! Other products, driven as users drive them.

pub mod bus;
pub mod eds;
pub mod plain;
pub mod server;
