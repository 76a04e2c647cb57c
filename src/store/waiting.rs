//! Why a pending submission isn't moving, as far as the database knows. Whether there are credentials,
//! and what the network is like, only the process knows.

use rusqlite::Row as SqlRow;

use super::order::{LANE, NEWER, OLDER, PARENT};
use super::rows::{Want, read_id, read_want};
use crate::clock::WallMs;
use crate::model::outcome::WaitingFor;

/// The columns that [`waiting_for`] reads, of a submission `s`. Whom it waits for is looked up only
/// where it waits.
pub(super) const COLUMNS: &str = "s.ready, s.due_wall, s.network_wait, s.blockers, s.probe_wall,
    (SELECT h.closed_wall FROM channel c JOIN host h ON h.origin = c.origin
        WHERE c.id = s.channel AND h.closed_uptime IS NOT NULL) AS gate,
    s.account IS NOT NULL AND NOT EXISTS (SELECT 1 FROM account n
        WHERE n.name = s.account AND n.signed_in = 1) AS signed_out,
    CASE WHEN s.blockers & 8 <> 0 THEN
        (SELECT p.id FROM dependency d JOIN submission p ON p.seq = d.parent
            WHERE d.child = s.seq ORDER BY d.parent LIMIT 1)
    WHEN s.blockers & 2 <> 0 THEN coalesce(
        (SELECT n.id FROM submission n WHERE n.account IS s.account AND n.replaces = s.replaces
            AND n.replaces IS NOT NULL AND n.settled_wall IS NULL AND n.seq > s.seq
            AND n.children = 1 ORDER BY n.seq LIMIT 1),
        (SELECT n.id FROM submission n WHERE n.account IS s.account AND n.replaces = s.replaces
            AND n.replaces IS NOT NULL AND n.settled_wall IS NULL AND n.seq > s.seq
            ORDER BY n.seq DESC LIMIT 1))
    WHEN s.blockers & 4 <> 0 THEN
        (SELECT o.id FROM submission o WHERE o.account IS s.account AND o.replaces = s.replaces
            AND o.replaces IS NOT NULL AND o.settled_wall IS NULL AND o.seq <> s.seq
            AND (o.state = 'in_flight' OR o.children = 1) ORDER BY o.seq LIMIT 1)
    WHEN s.blockers & 1 <> 0 THEN coalesce(
        (SELECT q.id FROM submission q WHERE q.account IS s.account AND q.lane = s.lane
            AND q.lane IS NOT NULL AND q.settled_wall IS NULL
            AND NOT (q.state = 'held' AND q.lane_policy = 'continue') AND q.seq < s.seq
            ORDER BY q.seq DESC LIMIT 1),
        (SELECT q.id FROM lane l JOIN submission q ON q.seq = coalesce(l.stopped, l.turn)
            WHERE l.account = coalesce(s.account, '') AND l.name = s.lane))
    END AS waits_for";

pub(super) fn waiting_for(row: &SqlRow<'_>, due: WallMs) -> rusqlite::Result<WaitingFor> {
    if row.get("signed_out")? {
        return Ok(WaitingFor::SignedOut);
    }
    if let Some(waits) = other(row)? {
        return Ok(waits);
    }
    let gate: Option<i64> = row.get("gate")?;
    let ready: i64 = row.get("ready")?;
    let probe: Option<i64> = row.get("probe_wall")?;
    let due = probe.map_or(due, WallMs);
    if let Some(gate) = gate.map(WallMs).filter(|gate| *gate > due) {
        return Ok(WaitingFor::Gate {
            until: gate.to_system_time(),
        });
    }
    let at = due.to_system_time();
    if probe.is_some() {
        return Ok(WaitingFor::Probe { at });
    }
    if ready == 2 {
        return Ok(WaitingFor::Unmetered);
    }
    let want = if ready == 0 {
        read_want(row.get("network_wait")?)
    } else {
        Want::Nothing
    };
    Ok(match want {
        Want::Nothing => WaitingFor::Due { at },
        Want::Network => WaitingFor::Network { at },
        Want::Certificate => WaitingFor::Certificate {
            at,
            clock_suspected: false,
        },
        Want::Clock => WaitingFor::Certificate {
            at,
            clock_suspected: true,
        },
    })
}

/// Another submission that it waits for.
fn other(row: &SqlRow<'_>) -> rusqlite::Result<Option<WaitingFor>> {
    let blockers: i64 = row.get("blockers")?;
    if blockers == 0 {
        return Ok(None);
    }
    let Some(id) = row.get::<_, Option<[u8; 16]>>("waits_for")?.map(read_id) else {
        return Ok(None);
    };
    // In the order of the columns.
    Ok([
        (PARENT, WaitingFor::Parent { id }),
        (NEWER, WaitingFor::Newer { id }),
        (OLDER, WaitingFor::Older { id }),
        (LANE, WaitingFor::Lane { id }),
    ]
    .into_iter()
    .find(|(bit, _)| blockers & bit != 0)
    .map(|(_, waits)| waits))
}
