//! The experiment workload from the outside: a job file in, pages, calls, steps and scores out,
//! against a loopback endpoint and a journal in memory.

mod checks;
mod code;
mod conversations;
mod elsewhere;
mod endpoint;
mod evaluators;
mod fixture;
mod forecasting;
mod http;
mod journal;
mod judging;
mod limits;
mod loading;
mod named;
mod paging;
mod parity;
mod providers;
mod quality;
mod replay;
mod running;
mod shapes;
