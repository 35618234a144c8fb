//! One suite for every adapter. The cases of `conformance` state the rules one by one; `differential`
//! drives the same random history through the specification and an adapter and compares everything.

mod conformance;
mod datasets;
mod differential;
mod fixture;
