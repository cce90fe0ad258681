//! Power failures: random histories on a disk in memory; each image is opened.

mod check;
mod commits;
mod etui;
mod faults;
mod model;
mod mutations;
mod past;
mod plain;
mod random;
mod run;
mod shrink;
mod steps;
mod stock;
mod store;
mod threads;
