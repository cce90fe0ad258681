//! Other products, driven as users drive them.

pub mod eds;
pub mod plain;
