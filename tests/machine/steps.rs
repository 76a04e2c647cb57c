//! The calls, and how they are drawn.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::model::Model;
use crate::terms::{Account, Kind};

/// What a server, or the way to it, does with all requests of one submission during a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Created,
    Lost,
    Unreachable,
    BadGateway,
    Invalid,
    Forbidden,
    Conflict,
    Partial,
}

impl Reply {
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Created => Some(201),
            Self::Lost | Self::Unreachable => None,
            Self::BadGateway => Some(502),
            Self::Invalid => Some(422),
            Self::Forbidden => Some(403),
            Self::Conflict => Some(412),
            Self::Partial => Some(206),
        }
    }

    /// No two answers are the same.
    pub fn body(self, intent: usize, attempt: u32) -> String {
        format!(r#"{{"of":{intent},"attempt":{attempt}}}"#)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Decision {
    Retry { accept: bool },
    Happened,
    GiveUp,
}

/// One of the IDs that there are, counted from the last, and what is submitted under it.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub back: usize,
    pub kind: Kind,
    pub content: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    All,
    Moving,
    Held,
    Settled,
    Of(u8),
    Lane(u8),
    Key(u8),
}

#[derive(Clone, Debug)]
pub enum Step {
    Begin {
        slot: u8,
    },
    /// Begins, and submits.
    Order {
        slot: u8,
        kind: Kind,
        content: u8,
    },
    Submit(Item),
    SubmitAll(Vec<Item>),
    Discard {
        slot: u8,
    },
    Cancel {
        back: usize,
    },
    Resolve {
        back: usize,
        fresh: bool,
        decision: Decision,
    },
    Drain {
        replies: Vec<Reply>,
    },
    Wait {
        back: usize,
    },
    List {
        listed: Listed,
        limit: u32,
    },
    Feed {
        limit: u32,
    },
    Pass {
        seconds: u64,
    },
    Retain,
    Reopen,
    SignIn {
        who: u8,
    },
    SignOut {
        purge: bool,
    },
    Release {
        account: Account,
        lane: u8,
    },
}

fn account() -> impl Strategy<Value = Account> {
    prop_oneof![3 => Just(None), 1 => (0..2_u8).prop_map(Some)]
}

fn kind() -> impl Strategy<Value = Kind> {
    let name = || prop_oneof![2 => Just(None), 1 => (0..2_u8).prop_map(Some)];
    (account(), name(), name(), prop::bool::weighted(0.2)).prop_map(
        |(account, lane, replaces, expires)| Kind {
            account,
            lane,
            // A lane keeps every one, such a key the last: it is one or the other.
            replaces: replaces.filter(|_| lane.is_none()),
            expires,
        },
    )
}

fn item() -> impl Strategy<Value = Item> {
    let content = prop_oneof![3 => Just(0), 1 => Just(1_u8)];
    (0..12_usize, kind(), content).prop_map(|(back, kind, content)| Item {
        back,
        kind,
        content,
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        4 => Just(Reply::Created),
        4 => Just(Reply::Lost),
        2 => Just(Reply::Unreachable),
        1 => Just(Reply::BadGateway),
        2 => Just(Reply::Invalid),
        1 => Just(Reply::Forbidden),
        1 => Just(Reply::Conflict),
        1 => Just(Reply::Partial),
    ]
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        3 => any::<bool>().prop_map(|accept| Decision::Retry { accept }),
        1 => Just(Decision::Happened),
        1 => Just(Decision::GiveUp),
    ]
}

fn listed() -> impl Strategy<Value = Listed> {
    prop_oneof![
        Just(Listed::All),
        Just(Listed::Moving),
        Just(Listed::Held),
        Just(Listed::Settled),
        (0..2_u8).prop_map(Listed::Of),
        (0..2_u8).prop_map(Listed::Lane),
        (0..2_u8).prop_map(Listed::Key),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let (slot, back) = (0..4_u8, 0..12_usize);
    prop_oneof![
        2 => slot.clone().prop_map(|slot| Step::Begin { slot }),
        12 => (slot.clone(), kind(), 0..2_u8)
            .prop_map(|(slot, kind, content)| Step::Order { slot, kind, content }),
        5 => item().prop_map(Step::Submit),
        2 => prop::collection::vec(item(), 1..4).prop_map(Step::SubmitAll),
        1 => slot.prop_map(|slot| Step::Discard { slot }),
        3 => back.clone().prop_map(|back| Step::Cancel { back }),
        7 => (back.clone(), prop::bool::weighted(0.8), decision())
            .prop_map(|(back, fresh, decision)| Step::Resolve { back, fresh, decision }),
        10 => prop::collection::vec(reply(), 5).prop_map(|replies| Step::Drain { replies }),
        2 => back.prop_map(|back| Step::Wait { back }),
        2 => (listed(), 1..5_u32).prop_map(|(listed, limit)| Step::List { listed, limit }),
        2 => (1..9_u32).prop_map(|limit| Step::Feed { limit }),
        6 => prop_oneof![6 => Just(60), 3 => Just(3_600), 1 => Just(26 * 3_600)]
            .prop_map(|seconds| Step::Pass { seconds }),
        1 => Just(Step::Retain),
        1 => Just(Step::Reopen),
        3 => (0..2_u8).prop_map(|who| Step::SignIn { who }),
        1 => prop::bool::weighted(0.4).prop_map(|purge| Step::SignOut { purge }),
        1 => (account(), 0..2_u8).prop_map(|(account, lane)| Step::Release { account, lane }),
    ]
}

/// The reference as what draws the calls.
pub struct Calls;

impl ReferenceStateMachine for Calls {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new()).boxed()
    }

    /// Every call can be made at any time: what makes no sense is refused.
    fn transitions(_: &Model) -> BoxedStrategy<Step> {
        thread_local! {
            static STEP: BoxedStrategy<Step> = step().boxed();
        }
        STEP.with(Clone::clone)
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.take(step);
        model
    }
}
