//! Recurrence: the RFC's examples, agreement with other implementations, zones, changed
//! instances, and the traps that are known.

mod properties;
mod reference;
mod rfc;
mod series;
mod skip;
mod support;
mod traps;
mod zones;
