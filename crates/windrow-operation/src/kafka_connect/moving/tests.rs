//! Two clusters in memory and a database that never rests. A process is killed at every boundary, before or after the
//! call took effect, and the next one goes on or turns round.

use serde_json::{Value, json};

use super::*;
use crate::handler::Call;
use crate::target::Target;

#[derive(Clone)]
struct Connector {
    state: &'static str,
    read: Option<u64>,
}

impl Connector {
    fn image(&self) -> Value {
        let tasks = if self.state == STOPPED { json!([]) } else { json!([self.state]) };
        let offset = |read| json!([{ "partition": { "p": 0 }, "offset": { "n": read } }]);
        let offsets = self.read.map_or(json!([]), offset);
        json!({ "config": { "a": "1" }, "state": self.state, "tasks": tasks, "offsets": offsets })
    }
}

struct World {
    here: Option<Connector>,
    there: Option<Connector>,
    committed: u64,
    sent: Vec<u64>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            here: Some(Connector { state: RUNNING, read: Some(0) }),
            there: None,
            committed: 0,
            sent: Vec::new(),
        };
        world.tick();
        world
    }

    fn image(&self) -> Value {
        let image = |side: &Option<Connector>| side.as_ref().map(Connector::image);
        json!({ "here": image(&self.here), "there": image(&self.there) })
    }

    /// A row is inserted, and whoever runs sends what it has not read.
    fn tick(&mut self) {
        self.committed += 1;
        let running = [&mut self.here, &mut self.there].into_iter().flatten().filter(|one| one.state == RUNNING);
        let running: Vec<&mut Connector> = running.collect();
        assert!(running.len() < 2, "both run");
        for one in running {
            self.sent.extend(one.read.unwrap_or(0) + 1..=self.committed);
            one.read = Some(self.committed);
        }
    }

    fn perform(&mut self, call: &Call) {
        let (name, side) = match call.name.strip_suffix(" there") {
            Some(name) => (name, &mut self.there),
            None => (call.name.as_str(), &mut self.here),
        };
        match (name, side.as_mut()) {
            ("create", None) => *side = Some(Connector { state: STOPPED, read: None }),
            ("stop", Some(one)) => one.state = STOPPED,
            ("resume", Some(one)) => one.state = RUNNING,
            ("patch_offsets", Some(one)) => {
                assert_eq!(one.state, STOPPED);
                one.read = call.input["body"]["offsets"][0]["offset"]["n"].as_u64();
            }
            ("delete_offsets", Some(one)) => one.read = None,
            ("delete", Some(_)) => {
                *side = None;
                assert_eq!(self.here.as_ref().unwrap().state, RUNNING, "the other side runs first");
            }
            other => panic!("{} on {:?}", call.name, other.1.is_some()),
        }
        self.tick();
    }
}

/// The part of a change record that a move looks at.
#[derive(Default)]
struct Record {
    before: Value,
    refined: bool,
    past: Vec<PastCall>,
    calls: Vec<PastCall>,
}

/// Makes calls until the goal is reached, or the process is killed at its `kill`-th call. Returns whether it got there.
fn drive(world: &mut World, record: &mut Record, way: Way, kill: Option<(usize, bool)>) -> bool {
    let cluster = |suffix| Cluster { url: "http://c".into(), name: "a".into(), suffix, headers: Default::default() };
    let (here, there, target) = (cluster(""), cluster(" there"), Target::named("a"));
    for made in 0..100 {
        let now = world.image();
        let context = ChangeContext {
            target: &target,
            way,
            before: &record.before,
            after: &Value::Null,
            now: Some(&now),
            past_calls: &record.past,
            calls: &record.calls,
            refined: record.refined,
        };
        let call = match (Move { here: &here, there: &there, rewind: false }).next(&context, &now).unwrap() {
            Next::Reached => return true,
            Next::RefinePreimage => {
                (record.refined, record.before["here"]["offsets"]) = (true, now["here"]["offsets"].clone());
                continue;
            }
            Next::Wait(why) => panic!("waits: {why}"),
            Next::Call(call) => call,
        };
        let killed = kill.filter(|(at, _)| *at <= made).map(|(_, happened)| happened);
        let made = PastCall { name: call.name.clone(), answered: killed.is_none() };
        record.past.push(made.clone());
        record.calls.push(made);
        if killed != Some(false) {
            world.perform(&call);
        }
        if killed.is_some() {
            return false;
        }
    }
    panic!("does not end")
}

#[test]
fn every_row_is_sent_once_wherever_a_move_there_and_back_is_killed_or_turned_round() {
    let kills: Vec<Option<(usize, bool)>> =
        (0..9).flat_map(|at| [Some((at, false)), Some((at, true))]).chain([None]).collect();
    for first in &kills {
        for second in &kills {
            for ends_there in [false, true] {
                let mut world = World::new();
                let mut record = Record { before: world.image(), ..Record::default() };
                let mut turn = |world: &mut World, way, kill| {
                    record.past.clear();
                    drive(world, &mut record, way, kill)
                };
                // There, as far as it comes; back, as far as it comes; then to the end, either way.
                turn(&mut world, Way::Apply, *first);
                let back = turn(&mut world, Way::Undo, *second);
                if !back || ends_there {
                    let way = if ends_there { Way::Apply } else { Way::Undo };
                    if back {
                        (record.calls, record.refined, record.before) = (Vec::new(), false, world.image());
                    }
                    record.past.clear();
                    assert!(drive(&mut world, &mut record, way, None));
                }
                let place = format!("killed at {first:?} and {second:?}, ends there: {ends_there}");
                assert_eq!(world.sent, (1..=world.committed).collect::<Vec<_>>(), "{place}");
                let (here, there) = (world.here.map(|one| one.state), world.there.map(|one| one.state));
                let wanted = if ends_there { (Some(STOPPED), Some(RUNNING)) } else { (Some(RUNNING), None) };
                assert_eq!((here, there), wanted, "{place}");
            }
        }
    }
}
