//! How states are told apart: packed, since most of the time of a search goes here. What hasn't begun needs
//! a byte.

use std::hash::{Hash, Hasher};

use crate::world::{Attempt, Submission, Task};

impl Hash for Attempt {
    fn hash<H: Hasher>(&self, to: &mut H) {
        let Some(mark) = self.mark else {
            return to.write_u8(255);
        };
        let task = match self.task {
            Task::Nobody => 0,
            Task::Claimed => 1,
            Task::Checked => 2,
            Task::Sent => 3,
            Task::Listening => 4,
            Task::Read(heard) => 5 + heard as u64,
        };
        let answer = self.answer.map_or(0, |heard| 1 + heard as u64);
        let flags = [
            self.was_frozen,
            self.ended,
            self.old,
            self.consented,
            self.copied,
            self.stray,
            self.before_consent,
        ];
        let mut packed = mark as u64;
        packed = packed << 2 | self.owner.map_or(3, u64::from);
        packed = packed << 4 | task;
        packed = packed << 4 | answer;
        for flag in flags {
            packed = packed << 1 | u64::from(flag);
        }
        packed = packed << 2 | self.run as u64;
        packed = packed << 2 | u64::from(self.travelling);
        packed = packed << 1 | u64::from(self.token);
        to.write_u64(packed);
    }
}

impl Hash for Submission {
    fn hash<H: Hasher>(&self, to: &mut H) {
        if !self.accepted {
            return to.write_u8(255);
        }
        self.visible.hash(to);
        self.attempts.hash(to);
        self.question.hash(to);
        self.records.hash(to);
        let flags = [
            self.cancel_requested,
            self.expires,
            self.is_past_expiry,
            self.consent,
            self.cancelled,
            self.sent_after_cancel,
            self.accepts_second,
            self.decided,
            self.owes_retry,
            self.final_changed,
            self.illegal,
        ];
        let mut packed = u64::from(self.fence.map_or(3, |fence| fence));
        for flag in flags {
            packed = packed << 1 | u64::from(flag);
        }
        for number in [self.begun, self.used, self.effects] {
            packed = packed << 2 | u64::from(number);
        }
        to.write_u64(packed);
    }
}
