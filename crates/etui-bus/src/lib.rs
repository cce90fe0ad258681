//! What etui's D-Bus services share: calls that are answered in any case, and bounded for each client.
//!
//! | module | |
//! |---|---|
//! | [`guard`] | a panic becomes an error reply |
//! | [`GuardedObject`] | an object whose calls wait for their turn, and are answered even if one panics |
//! | [`CallLimits`] | how many calls of a client run and wait |
//! | [`CallActivity`] | when a service is at rest |

#![deny(missing_docs)]

pub mod guard;

mod call_activity;
mod call_limits;
mod guarded_object;

pub use call_activity::CallActivity;
pub use call_limits::CallLimits;
pub use guarded_object::GuardedObject;
