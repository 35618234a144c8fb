//! Random histories of one target: two definitions are applied and rolled back in any order, and processes are killed
//! in the middle of calls. A rollback restores what was before its own definition touched the target, or nothing.

use super::*;

/// What becomes of a call. A process that hangs is killed.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Good,
    Rejected,
    KilledBefore,
    KilledAfter,
}

struct Target2 {
    value: Mutex<i64>,
    goal: i64,
    fates: Mutex<VecDeque<Fate>>,
    /// A call may have left its mark.
    touched: Mutex<bool>,
}

#[async_trait]
impl Handler for Target2 {
    fn lock(&self, target: &Target) -> String {
        target.name.clone()
    }
    async fn read(&self, _target: &Target) -> Result<Option<Value>, Failure> {
        Ok(Some(json!(*self.value.lock().unwrap())))
    }
    fn after(&self, _target: &Target, _before: &Value) -> Result<Value, Failure> {
        Ok(json!(self.goal))
    }
    fn next(&self, context: &ChangeContext<'_>) -> Result<Next, Failure> {
        Ok(match context.now == Some(context.goal()) {
            true => Next::Reached,
            false => Next::call("set", context.goal().clone()),
        })
    }
    async fn call(&self, _target: &Target, call: &Call, _key: &ContentKey) -> Result<Value, Trouble> {
        let fate = self.fates.lock().unwrap().pop_front().unwrap_or(Fate::Good);
        *self.touched.lock().unwrap() |= fate != Fate::Rejected;
        if matches!(fate, Fate::Good | Fate::KilledAfter) {
            *self.value.lock().unwrap() = call.input.as_i64().unwrap();
        }
        match fate {
            Fate::Good => Ok(json!("ok")),
            Fate::Rejected => Err(Trouble::Failed(Failure::new(ErrorClass::InvalidRequest, "no"))),
            Fate::KilledBefore | Fate::KilledAfter => std::future::pending().await,
        }
    }
}

/// Keeps steps as the store does.
struct Kept {
    attempt: u32,
    history: Vec<Step>,
    steps: Mutex<Vec<Step>>,
}

#[async_trait]
impl Journal for Kept {
    fn history(&self) -> &[Step] {
        &self.history
    }
    fn recall(&self, _key: &ContentKey) -> Option<Recalled> {
        None
    }
    async fn look_up(&self, _key: &ContentKey) -> Option<Recalled> {
        None
    }
    async fn admit(&self, _demand: Demand) -> Result<Permit, Stopped> {
        Ok(Permit::free())
    }
    async fn wait_out(&self, _endpoint: &str, _pause: Duration) -> Result<(), Stopped> {
        Ok(())
    }
    async fn begin(&self, intent: StepIntent) -> Result<StepNo, Stopped> {
        let mut steps = self.steps.lock().unwrap();
        let begun = step(self.attempt, &intent.kind, &intent.name, StepState::Intent, Value::Null);
        steps.push(begun);
        Ok(StepNo { no: steps.len() as u32 - 1, shared: false })
    }
    fn finish(&self, no: StepNo, result: StepResult) {
        let step = &mut self.steps.lock().unwrap()[no.no as usize];
        match result {
            StepResult::Done { output, .. } => (step.state, step.output) = (StepState::Done, Some(output)),
            StepResult::Failed { failure } => (step.state, step.failure) = (StepState::Failed, Some(failure)),
        }
    }
    fn whole(&self, intent: StepIntent, result: StepResult, _took_ms: i64) {
        if let StepResult::Done { output, .. } = result {
            let done = step(self.attempt, &intent.kind, &intent.name, StepState::Done, output.value());
            self.steps.lock().unwrap().push(done);
        }
    }
    fn reuse(&self, _intent: StepIntent, _from: StepId, _taken: Option<(Json, Usage)>) {}
    async fn hand_in_partial(&self, _done: Done) -> Result<(), Stopped> {
        Ok(())
    }
    fn stopping(&self) -> bool {
        false
    }
}

/// One attempt of a definition; the steps it leaves behind, and how it ended if it was not killed.
async fn attempt(
    value: &mut i64,
    goal: i64,
    fates: Vec<Fate>,
    history: &mut Vec<Step>,
    no: u32,
    rollback: bool,
) -> (Option<Result<Done, Halt>>, bool) {
    let handler = Arc::new(Target2 {
        value: Mutex::new(*value),
        goal,
        fates: Mutex::new(fates.into()),
        touched: Mutex::new(false),
    });
    let journal = Kept { attempt: no, history: history.clone(), steps: Mutex::default() };
    let operation = Operation { definition: format!("v{goal}"), ..operation(handler.clone()) };
    let item = WorkItem { attempt: AttemptId::new(ItemId(1), no), first_try: no, ..work_item(rollback) };
    let ended = tokio::time::timeout(Duration::from_secs(100), operation.execute(&item, &journal)).await.ok();
    history.extend(journal.steps.into_inner().unwrap());
    *value = *handler.value.lock().unwrap();
    (ended, *handler.touched.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_rollback_restores_what_was_before_its_own_definition() {
    for seed in 0..1_000 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let (mut value, mut history) = (0, Vec::new());
        // Definitions whose changes stand, each with the value before it.
        let mut standing: Vec<(i64, i64)> = Vec::new();
        let mut told = String::new();
        for no in 1..=chance.u32(2..9) {
            let goal = chance.i64(1..=2);
            let fate = *chance
                .choice(&[Fate::Good, Fate::Good, Fate::Rejected, Fate::KilledBefore, Fate::KilledAfter])
                .unwrap();
            let before = value;
            if chance.u8(0..3) > 0 {
                let (_, touched) = attempt(&mut value, goal, vec![fate], &mut history, no, false).await;
                told += &format!("apply {goal}, ");
                if touched && standing.last().is_none_or(|(of, _)| *of != goal) {
                    standing.push((goal, before));
                }
                continue;
            }
            let (ended, _) = attempt(&mut value, goal, vec![fate], &mut history, no, true).await;
            told += &format!("rollback {goal}, ");
            let its_own = standing.last().filter(|(of, _)| *of == goal).copied();
            match (its_own, ended) {
                (Some((_, restored)), Some(Ok(_))) => {
                    assert_eq!(value, restored, "seed {seed}: {told}");
                    standing.pop();
                }
                // Killed or rejected on the way: it stands until a rollback comes to its end.
                (Some(_), _) => {}
                (None, _) => assert_eq!(value, before, "seed {seed}: {told} is not its own to take back"),
            }
        }
    }
}

/// Two versions of a batch over several targets: the first is applied to all, the second stops anywhere, by a failure, a
/// cancel or a kill, as often as it is resumed. Its rollback, killed and resumed as well, restores every target.
#[tokio::test(start_paused = true)]
async fn a_rollback_of_many_targets_restores_what_was_before_the_second_version() {
    for seed in 0..300 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let targets = chance.usize(2..8);
        let mut values: Vec<i64> = (0..targets).map(|_| chance.i64(10..99)).collect();
        let (mut histories, mut no) = (vec![Vec::new(); targets], 0);
        for n in 0..targets {
            no += 1;
            let _ = attempt(&mut values[n], 1, vec![], &mut histories[n], no, false).await;
        }
        let before = values.clone();
        let mut touched = vec![false; targets];
        let mut told = String::new();
        for _ in 0..chance.u32(1..4) {
            for n in 0..targets {
                let fate = *chance
                    .choice(&[
                        Fate::Good,
                        Fate::Good,
                        Fate::Good,
                        Fate::Rejected,
                        Fate::KilledBefore,
                        Fate::KilledAfter,
                    ])
                    .unwrap();
                no += 1;
                let (_, called) = attempt(&mut values[n], 2, vec![fate], &mut histories[n], no, false).await;
                touched[n] |= called;
                told += &format!("apply {n}, ");
                // The cap is reached, the process is killed, or somebody cancels.
                if fate != Fate::Good || chance.u8(0..6) == 0 {
                    break;
                }
            }
        }
        let mut open: Vec<usize> = (0..targets).rev().collect();
        while let Some(&n) = open.first() {
            let fate = *chance.choice(&[Fate::Good, Fate::Good, Fate::KilledBefore, Fate::KilledAfter]).unwrap();
            no += 1;
            let (ended, _) = attempt(&mut values[n], 2, vec![fate], &mut histories[n], no, true).await;
            match ended {
                Some(Ok(done)) => {
                    assert_eq!(done.skipped, !touched[n], "seed {seed}: {n} after {told}");
                    open.remove(0);
                }
                Some(Err(halt)) => panic!("seed {seed}: {n} after {told}: {halt}"),
                None => {}
            }
        }
        assert_eq!(values, before, "seed {seed}: {told}");
    }
}
