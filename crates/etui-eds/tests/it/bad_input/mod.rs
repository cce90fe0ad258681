//! Bad input over the bus: an error each time, bounded memory, and other clients unharmed.

mod calls;
mod floods;
mod session;
