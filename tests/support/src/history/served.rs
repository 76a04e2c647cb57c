//! The server's part of a history, read from its records.

use super::Event;
use crate::records::RequestRecord;

/// The events that the records tell, with their times. A request whose body was cut never came whole, can
/// have no effect, and isn't told of.
pub(crate) fn served(records: &[RequestRecord]) -> Vec<(u64, Event)> {
    records.iter().flat_map(events_of).collect()
}

fn events_of(record: &RequestRecord) -> Vec<(u64, Event)> {
    let (Some(key), Some(digest)) = (&record.key, &record.body_sha256) else {
        return Vec::new();
    };
    let received = Event::Received {
        number: record.number,
        key: key.clone(),
        request: format!("{} {} {digest}", record.method, record.path),
        account: record.principal.clone().unwrap_or_default(),
    };
    let mut events = vec![(record.arrived_at_ns, received)];
    if let Some(at) = record.effect_at_ns
        && record.made_effect()
    {
        events.push((at, Event::Effect { key: key.clone() }));
    }
    if let Some(at) = record.flight_ended_at_ns() {
        let number = record.number;
        events.push((at, Event::Ended { number }));
    }
    events
}
