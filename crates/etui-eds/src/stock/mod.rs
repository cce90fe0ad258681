//! The stock server's backends, each in a helper process of the stock server.
//!
//! ```text
//! client -- OpenAddressBook --> this service -- Create --> evolution-addressbook-factory-subprocess
//!    ^----- object path and bus name of the helper ------'        |
//!    `------ every further call, directly -------------------------'
//! ```

mod backends;
mod helper;

pub(crate) use backends::{Factory, find_backend};
pub(crate) use helper::Helpers;
