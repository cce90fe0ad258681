//! Integration tests of etui-when.

mod phrases;
