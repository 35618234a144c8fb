//! The bounded queue in front of the workers (B1). When it is full, the caller gets the task back and releases its
//! item.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Semaphore;

pub struct TaskQueue<T> {
    queue: Mutex<VecDeque<T>>,
    capacity: usize,
    waiting: Semaphore,
}

/// The task that did not fit.
pub struct QueueFull<T>(pub T);

impl<T> TaskQueue<T> {
    pub fn new(capacity: usize) -> Self {
        let queue = Mutex::new(VecDeque::new());
        Self { queue, capacity, waiting: Semaphore::new(0) }
    }

    pub fn push(&self, task: T) -> Result<(), QueueFull<T>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= self.capacity {
            return Err(QueueFull(task));
        }
        queue.push_back(task);
        self.waiting.add_permits(1);
        Ok(())
    }

    pub async fn pop(&self) -> T {
        loop {
            let permit = self.waiting.acquire().await.expect("the queue is never closed");
            permit.forget();
            // Empty if the task was withdrawn after the permit was acquired.
            if let Some(task) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                return task;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Removes the matching tasks; no worker has begun them.
    pub fn withdraw(&self, wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, kept) = queue.drain(..).partition(wanted);
        *queue = kept;
        let taken: VecDeque<T> = taken;
        self.waiting.forget_permits(taken.len());
        taken.into()
    }
}
