//! The experiment workload from the outside: a job file in, pages, calls, steps and scores out,
//! against a loopback endpoint and a journal in memory.

mod conversations;
mod endpoint;
mod evaluators;
mod fixture;
mod formats;
mod journal;
mod judging;
mod limits;
mod loading;
mod paging;
mod parity;
mod providers;
mod quality;
mod running;
mod shapes;
