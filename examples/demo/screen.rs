//! What is seen while the day goes by: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::{Arc, Weak};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use submit_once::{ChangeListener, ListenerError, Outbox};

pub struct Screen {
    bar: Option<ProgressBar>,
    /// Weak: the outbox holds its listener.
    outbox: Weak<Outbox>,
}

impl Screen {
    pub fn new(orders: usize, outbox: &Arc<Outbox>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(orders as u64),
                ProgressDrawTarget::stderr_with_hz(15),
            );
            let style = ProgressStyle::with_template(
                "{spinner} {bar:32.green/dim} {pos}/{len} settled  {msg}",
            );
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self {
            bar,
            outbox: Arc::downgrade(outbox),
        }
    }

    pub fn phase(&self, text: &str) {
        self.line(&format!("\n{text}"));
    }

    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => println!("{text}"),
        }
    }

    /// Where things stand, for those who have no bar.
    pub fn standing(&self) {
        if self.bar.is_none()
            && let Some(outbox) = self.outbox.upgrade()
            && let Ok(stats) = outbox.stats()
        {
            let open = stats.pending + stats.in_flight + stats.held;
            println!("  … {} settled, {open} open", stats.accepted - open);
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl ChangeListener for Screen {
    fn changed(&self) -> Result<(), ListenerError> {
        if let Some(bar) = &self.bar
            && let Some(outbox) = self.outbox.upgrade()
        {
            let stats = outbox.stats().map_err(|_| ListenerError::Failed)?;
            let settled = stats.accepted - stats.pending - stats.in_flight - stats.held;
            bar.set_position(u64::try_from(settled).unwrap_or(0));
            bar.set_message(format!(
                "{} waiting, {} on the wire",
                stats.pending, stats.in_flight
            ));
        }
        Ok(())
    }
}
