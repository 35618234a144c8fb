//! Progress of something that passes over rows: nothing in the first second, then a line that is
//! overwritten on a terminal and repeated every 30 s elsewhere. Always on stderr.

use std::future::Future;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

const QUIET: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Awaits the work, and meanwhile shows what `say` says.
pub async fn while_counting<T>(quiet: bool, say: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    if quiet {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let begun = Instant::now();
    let mut last_line = begun;
    let bar = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
    loop {
        tokio::select! {
            done = &mut work => {
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                return done;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        match &bar {
            Some(bar) if begun.elapsed() > QUIET => bar.set_message(say()),
            None if begun.elapsed() > QUIET && last_line.elapsed() > LINE_EVERY => {
                last_line = Instant::now();
                eprintln!("{}", say());
            }
            _ => {}
        }
    }
}
