//! Tests of the public interface.

#![allow(clippy::expect_used)]

mod phone;
