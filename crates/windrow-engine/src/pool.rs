//! The workers of a node behind a bounded queue (B1). A full queue is an answer, not a wait; the
//! caller gives the item back, and nothing is lost.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;

pub struct Pool<T> {
    queue: Mutex<VecDeque<T>>,
    capacity: usize,
    waiting: Semaphore,
}

/// The queue is full; here is the task back.
pub struct QueueFull<T>(pub T);

impl<T> Pool<T> {
    pub fn new(capacity: usize) -> Self {
        let queue = Mutex::new(VecDeque::new());
        Self { queue, capacity, waiting: Semaphore::new(0) }
    }

    pub fn offer(&self, task: T) -> Result<(), QueueFull<T>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= self.capacity {
            return Err(QueueFull(task));
        }
        queue.push_back(task);
        self.waiting.add_permits(1);
        Ok(())
    }

    /// Waits for a task.
    pub async fn take(&self) -> T {
        loop {
            let permit = self.waiting.acquire().await.expect("the pool is never closed");
            permit.forget();
            // Gone if it was withdrawn between the permit and here.
            if let Some(task) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                return task;
            }
        }
    }

    pub fn queued(&self) -> usize {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes back those of the wanted tasks that no worker has begun.
    pub fn withdraw(&self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, kept) = queue.drain(..).partition(wanted);
        *queue = kept;
        let taken: VecDeque<T> = taken;
        self.waiting.forget_permits(taken.len());
        taken.into()
    }
}
