//! One run on several nodes: processes that share a database server, and the cores with it.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use windrow_model::RunId;
use windrow_model::store::Store;
use windrow_store::SqlStore;

use crate::Figures;
use crate::noop::Noop;
use crate::walk::{CONCURRENCY, block_on, plan, server_url, start, submit_named};

const READY: &str = "ready";
const OVER: &str = "over";

/// Items per second of all nodes together, including planning and from the moment when all items are queued.
pub fn shared(database: &str, nodes: u64, items: u64) -> Figures {
    let store = block_on(SqlStore::connect(&server_url(database))).expect("the server");
    let store: Arc<dyn Store> = Arc::new(store);
    let mut nodes: Vec<Node> = (0..nodes).map(|_| Node::start(database)).collect();
    for node in &mut nodes {
        node.hears(READY);
    }
    let concurrency = CONCURRENCY * nodes.len() as i64;
    let submitted = |name: &str| block_on(submit_named(&*store, name, items, concurrency));

    let began = Instant::now();
    let run = submitted("shared");
    let seconds = settled(&mut nodes, run, began);
    let planned = submitted("planned");
    block_on(plan(store.clone(), planned));
    let without_planning = settled(&mut nodes, planned, Instant::now());
    for run in [run, planned] {
        let counters = block_on(store.run(run)).expect("the run").counters;
        assert_eq!(counters.succeeded, items as i64, "every item was walked");
        assert_eq!(counters, block_on(store.recount(run)).expect("a recount"));
    }
    let name = |without: &str| format!("{database}.items_per_s_{}_nodes{without}", nodes.len());
    [(name(""), items as f64 / seconds), (name("_without_planning"), items as f64 / without_planning)].into()
}

/// Seconds until the first node sees the run ended.
fn settled(nodes: &mut [Node], run: RunId, began: Instant) -> f64 {
    for node in nodes.iter_mut() {
        writeln!(node.orders, "{}", run.0).expect("the node listens");
    }
    let ended = std::thread::scope(|scope| {
        let heard: Vec<_> = nodes.iter_mut().map(|node| scope.spawn(move || node.hears(OVER))).collect();
        heard.into_iter().map(|node| node.join().expect("no node fails")).min()
    });
    (ended.expect("a node") - began).as_secs_f64()
}

struct Node {
    process: Child,
    orders: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
}

impl Node {
    fn start(database: &str) -> Self {
        let me = std::env::current_exe().expect("this program");
        let mut node = Command::new(me);
        let mut process =
            node.args(["node", database]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a node starts");
        let orders = process.stdin.take().expect("piped");
        let said = BufReader::new(process.stdout.take().expect("piped")).lines();
        Self { process, orders, said }
    }

    fn hears(&mut self, word: &str) -> Instant {
        let line = self.said.next().expect("the node lives").expect("a line");
        assert_eq!(line, word);
        Instant::now()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a node does: works on each run that it reads from its input until the run has ended.
pub fn node(database: &str) {
    let store: Arc<dyn Store> = Arc::new(block_on(SqlStore::connect(&server_url(database))).expect("the server"));
    println!("{READY}");
    for line in std::io::stdin().lines() {
        let run = RunId(line.expect("a line").parse().expect("a run"));
        block_on(async {
            let engine = start(store.clone(), Noop::default(), CONCURRENCY as usize).await;
            engine.settled(run).await.expect("the run ends");
            println!("{OVER}");
            engine.drain().await;
        });
    }
}
