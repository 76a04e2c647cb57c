//! How much is searched, against which server.

use submit_once::ServerProfile;
use submit_once::rules::{Judgement, Settles};

use crate::rule::{Rule, Rules};
use crate::server::{Lifetime, Server, judge, lifetime};
use crate::world::{HEARD, Heard, MOST, PROCESSES};

/// How long a repeat waits after an attempt that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quiet {
    /// Until nothing of the key travels or runs.
    Full,
    /// Until nothing of it runs in a handler.
    ServerOnly,
    /// Not long enough for anything.
    Off,
}

/// What a status probe asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// There is none.
    Nothing,
    /// The effect.
    Effect,
    /// The record of the key.
    KeyRecord,
}

/// What is searched.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The server.
    pub server: Server,
    /// An older and a newer submission of a latest-wins key, not one alone.
    pub pair: bool,
    /// Attempts of a submission at most. The retry budget is as large; a decision starts it anew.
    pub attempts: u8,
    /// Attempts that the retry budget has.
    pub budget: u8,
    /// Processes, two or three.
    pub processes: u8,
    /// Processes are killed.
    pub kills: bool,
    /// Processes are frozen, and thaw.
    pub freezes: bool,
    /// Leases run out in processes that live, too.
    pub lapses: bool,
    /// The app cancels.
    pub cancels: bool,
    /// They expire.
    pub expires: bool,
    /// Answers come after they were given up, too.
    pub late: bool,
    /// Answers come twice, too.
    pub twice: bool,
    /// A gateway sends requests again by itself.
    pub copies: bool,
    /// Refusals of the handler, and of anything before it.
    pub refusals: bool,
    /// Faults that prove nothing, or that nothing was sent.
    pub faults: bool,
    /// A status probe.
    pub probe: Probe,
    /// The quiet time.
    pub quiet: Quiet,
    /// Credentials are renewed once.
    pub renews: bool,
    /// Decisions to retry.
    pub retries: bool,
    /// The other decisions.
    pub decisions: bool,
    /// The documented exceptions are no excuse.
    pub strict: bool,
    /// The rules that are taken out.
    pub without: Rules,
}

impl Setting {
    /// One submission at this server with two attempts, and nothing else.
    pub const fn at(server: Server) -> Self {
        Self {
            server,
            pair: false,
            attempts: 2,
            budget: 2,
            processes: 2,
            kills: false,
            freezes: false,
            lapses: false,
            cancels: false,
            expires: false,
            late: false,
            twice: false,
            copies: false,
            refusals: true,
            faults: true,
            probe: Probe::Nothing,
            quiet: Quiet::Full,
            renews: false,
            retries: true,
            decisions: false,
            strict: false,
            without: Rules::NONE,
        }
    }

    /// The same with these rules taken out.
    #[must_use]
    pub fn without(self, rules: &[Rule]) -> Self {
        Self {
            without: Rules::of(rules),
            ..self
        }
    }
}

/// The model of a setting.
#[derive(Debug)]
pub struct Delivery {
    /// The setting.
    pub setting: Setting,
    pub(crate) lifetime: Lifetime,
    judgements: Vec<Judgement>,
}

impl Delivery {
    /// Asks the core once what each answer of this server means.
    pub fn new(setting: Setting) -> Self {
        assert!(usize::from(setting.attempts) <= MOST);
        assert!(usize::from(setting.processes) <= PROCESSES);
        let flag = setting.copies && !setting.without.has(Rule::GatewayFlag);
        let profile = setting.server.profile(flag);
        let lifetime = match lifetime(&profile) {
            Lifetime::Zero if setting.without.has(Rule::LifetimeZero) => Lifetime::Endless,
            lifetime => lifetime,
        };
        Self {
            lifetime,
            judgements: HEARD
                .iter()
                .map(|heard| setting.judge(&profile, *heard))
                .collect(),
            setting,
        }
    }

    /// The rule holds.
    pub(crate) fn has(&self, rule: Rule) -> bool {
        !self.setting.without.has(rule)
    }

    pub(crate) fn judgement(&self, heard: Heard) -> &Judgement {
        &self.judgements[heard as usize]
    }
}

impl Setting {
    fn judge(&self, profile: &ServerProfile, heard: Heard) -> Judgement {
        let mut judgement = judge(profile, heard);
        if heard == Heard::StoredRefusal {
            if self.without.has(Rule::MarkerSinceConsent) {
                judgement.settles = Settles::Everything;
            } else if self.without.has(Rule::MarkerNeedsLock) {
                judgement.settles = Settles::SinceConsent;
            }
        }
        judgement
    }
}
