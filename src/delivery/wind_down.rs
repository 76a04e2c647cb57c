//! Winding down: nothing more is begun, what is on the wire comes to its end, and then it is quiet.

use std::sync::Arc;
use std::time::Duration;

use super::drain::{Drain, DrainReport, DrainStop, Draining};
use super::engine::Engine;
use crate::error::OutboxError;

/// How winding down ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, uniffi::Enum)]
pub enum WindDown {
    /// Nothing is on the wire any more, and delivery is suspended.
    Finished,
    /// The time was over, or `suspend` was called: what was still on the wire is in doubt, and is
    /// repeated later with the same key. Delivery is suspended.
    CutOff,
    /// `start` or `drain` was called meanwhile: delivery goes on.
    Resumed,
}

impl Engine {
    /// Begins nothing more. The report comes when nothing is on the wire any more, or the time is over.
    pub(crate) fn wind_down(self: &Arc<Self>, time: Duration) -> Result<Draining, OutboxError> {
        let deadline = self.parts.clock.now().uptime.plus(time);
        self.wait_as(|demand, sender| {
            demand.started = false;
            demand.winding_down = true;
            Drain::winding_down(deadline, sender)
        })
    }

    /// Suspends after that, unless delivery was wanted again.
    pub(crate) fn end_wind_down(
        self: &Arc<Self>,
        waited: Result<DrainReport, OutboxError>,
    ) -> Result<WindDown, OutboxError> {
        if !self.suspend_if(|demand| demand.winding_down)? {
            return Ok(WindDown::Resumed);
        }
        let report = waited?;
        Ok(match report.stopped {
            DrainStop::Suspended => WindDown::CutOff,
            _ if report.in_flight > 0 => WindDown::CutOff,
            _ => WindDown::Finished,
        })
    }
}
