//! The times of these tests, and how they wait.

use std::time::Duration;

use submit_once::Limits;

pub fn limits() -> Limits {
    Limits {
        request_timeout: Duration::from_secs(2),
        idle_timeout: Duration::from_millis(600),
        busy_timeout: Duration::from_millis(1_500),
        lease: Duration::from_secs(8),
        max_answer_bytes: 64 * 1024,
        ..Limits::default()
    }
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}
