//! The network between the device and the server: it loses, delays, doubles and cuts, by the seed.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use submit_once::{
    Effect, Exchange, Fault, Header, KeyPlace, Transport, WireAnswer, WireBody, WireRequest,
};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use crate::common::sim::{SimClock, header};
use crate::device::Life;
use crate::log::{Log, digest};
use crate::server::Server;

/// A request, as the server reads it.
#[derive(Clone)]
pub struct Request {
    /// Which submission it is of.
    pub id: String,
    pub effect: Effect,
    /// Whose it is, by its own header.
    pub account: Option<String>,
    /// Whose token it carries, and which.
    pub bearer: Option<(String, u64)>,
    /// The key, where there is a place for it.
    pub key: Option<String>,
    /// Path and query.
    pub target: String,
    pub path: String,
    /// What must be the same at every attempt.
    pub text: String,
    pub draft: Option<(String, u64)>,
    pub records: Vec<String>,
    pub batch: bool,
    /// It asks where a redirect pointed.
    pub following: bool,
    pub probe: bool,
}

fn named<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name == name)?;
    Some(&found.value)
}

fn read_body(request: &WireRequest) -> Vec<u8> {
    match &request.body {
        WireBody::Bytes(bytes) => bytes.to_vec(),
        WireBody::File { path, .. } => std::fs::read(path).unwrap_or_default(),
    }
}

fn key_in(request: &WireRequest, place: &KeyPlace, target: &str, body: &[u8]) -> Option<String> {
    match place {
        KeyPlace::Header { name } => {
            named(&request.headers, &name.to_ascii_lowercase()).map(str::to_owned)
        }
        KeyPlace::Query { name } => {
            let (_, query) = target.split_once('?')?;
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.to_owned())
        }
        KeyPlace::Path { .. } => target.rsplit('/').next().map(str::to_owned),
        KeyPlace::JsonPointer { pointer } => {
            let value: serde_json::Value = serde_json::from_slice(body).ok()?;
            Some(value.pointer(pointer)?.as_str()?.to_owned())
        }
        KeyPlace::Nowhere => None,
    }
}

impl Request {
    fn read(request: &WireRequest, place: &KeyPlace) -> Self {
        let headers = &request.headers;
        let target = request.url.splitn(4, '/').nth(3).unwrap_or_default();
        let target = format!("/{target}");
        let body = read_body(request);
        let effect = match named(headers, "x-effect") {
            Some("overwrite") => Effect::Overwrite,
            Some("unkeyed") => Effect::Unkeyed,
            Some("safe") => Effect::Safe,
            _ => Effect::Keyed,
        };
        let key = match effect {
            Effect::Keyed => key_in(request, place, &target, &body),
            Effect::Overwrite | Effect::Unkeyed | Effect::Safe => None,
        };
        let bearer = named(headers, "authorization").and_then(|value| {
            let (account, token) = value.strip_prefix("Bearer ")?.split_once('-')?;
            Some((account.to_owned(), token.parse().ok()?))
        });
        let draft = named(headers, "x-draft").and_then(|value| {
            let (draft, version) = value.split_once(' ')?;
            Some((draft.to_owned(), version.parse().ok()?))
        });
        let batch = named(headers, "x-batch").is_some();
        let text = String::from_utf8_lossy(&body);
        let records = match batch {
            false => Vec::new(),
            true => text
                .split(['"', '\\'])
                .filter(|word| word.starts_with("rec-"))
                .map(str::to_owned)
                .collect(),
        };
        let poison = if text.contains("poison") {
            " poison"
        } else {
            ""
        };
        let own = target.strip_prefix("/moved").unwrap_or(&target);
        let probe = target.starts_with("/status/");
        let id = match (named(headers, "x-sim"), probe) {
            (_, true) => target["/status/".len()..].to_owned(),
            (Some(id), false) => id.to_owned(),
            (None, false) => key.clone().unwrap_or_default(),
        };
        Self {
            id,
            effect,
            account: named(headers, "x-account").map(str::to_owned),
            bearer,
            key,
            path: target.split('?').next().unwrap_or_default().to_owned(),
            text: format!("{} {own} {}{poison}", request.method, digest(&body)),
            draft,
            records,
            batch,
            following: request.method == "GET" && effect != Effect::Safe && !probe,
            probe,
            target,
        }
    }
}

/// What becomes of one request on its way.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// It never leaves.
    Fails(Fault),
    /// It leaves, and never arrives.
    Lost,
    /// It leaves, its connection breaks at once, and it arrives later.
    Wanders(Duration),
    /// It arrives, and its connection breaks so much later, whatever the handler does.
    Breaks(Duration),
    /// It arrives, and nothing ever comes back.
    Silent,
    /// An answer comes back; a cut one, or twice, or late.
    Answered { cut: bool, twice: bool, late: bool },
}

pub struct Net {
    server: Mutex<Server>,
    clock: Arc<SimClock>,
    /// The device has slept.
    slept: Notify,
    log: Arc<Log>,
}

impl Net {
    pub fn new(server: Server, clock: &Arc<SimClock>, log: &Arc<Log>) -> Arc<Self> {
        Arc::new(Self {
            server: Mutex::new(server),
            clock: Arc::clone(clock),
            slept: Notify::new(),
            log: Arc::clone(log),
        })
    }

    /// The device sleeps, and with it its timers. The rest of the world goes on.
    pub fn device_sleeps(&self, time: Duration) {
        self.clock.sleep_device(time);
        self.slept.notify_waiters();
    }

    /// Waits outside the device, in true time: so long after `since`, which it moves on.
    async fn outside(&self, since: &mut i64, time: Duration) {
        *since += i64::try_from(time.as_millis()).unwrap();
        while let Ok(left @ 1..) = u64::try_from(*since - self.clock.elapsed()) {
            tokio::select! {
                biased;
                () = self.slept.notified() => {}
                () = sleep(Duration::from_millis(left)) => {}
            }
        }
    }

    pub fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    pub fn hang_up(&self, process: u64) {
        self.server().hang_up(process);
    }

    fn fate(&self, request: &Request) -> Fate {
        let mut server = self.server();
        if let Some(fate) = server.fates.pop_front() {
            return fate;
        }
        let fine = Fate::Answered {
            cut: false,
            twice: false,
            late: false,
        };
        if !server.trouble() {
            return fine;
        }
        let locks = server.setting().profile.locks && request.effect == Effect::Keyed;
        let dice = &mut server.dice;
        match dice.below(24) {
            0..=1 => Fate::Fails(Fault::Unreachable),
            2 => Fate::Fails(Fault::Offline),
            3 => Fate::Fails(*dice.pick(&[Fault::Tls, Fault::TlsClock, Fault::NotProcessed])),
            4..=5 => Fate::Lost,
            // Without locks nothing may come after the quiet time; with them, after the horizon.
            6..=8 if locks => Fate::Wanders(Duration::from_secs(dice.between(1, 500))),
            6..=8 => Fate::Wanders(Duration::from_millis(dice.between(100, 9_000))),
            9..=14 => Fate::Breaks(Duration::from_millis(dice.between(10, 8_000))),
            15..=16 => Fate::Silent,
            17 => Fate::Answered {
                cut: true,
                twice: false,
                late: false,
            },
            18 => Fate::Answered {
                cut: false,
                twice: true,
                late: false,
            },
            19..=21 => Fate::Answered {
                cut: false,
                twice: false,
                late: true,
            },
            _ => fine,
        }
    }

    /// How long the handler works. Where keys aren't locked, it is done before the quiet time is over,
    /// whenever its client goes away.
    fn work(&self, request: &Request) -> Duration {
        let mut server = self.server();
        let locks = server.setting().profile.locks && request.effect == Effect::Keyed;
        let slow = server.trouble() && server.dice.one_in(3);
        let most = match (slow, locks) {
            (true, true) => 200_000,
            (true, false) => 5_000,
            (false, _) => 400,
        };
        Duration::from_millis(server.dice.between(1, most))
    }

    /// The server's side of one request, to its answer; `None` if it ended with its client.
    async fn serve(
        &self,
        request: &Request,
        gone: watch::Receiver<bool>,
        mut since: i64,
    ) -> Option<WireAnswer> {
        if request.probe {
            return Some(self.server().probe(&request.id));
        }
        let front = self.server().front(request);
        if front.is_some() {
            return front;
        }
        if request.effect != Effect::Safe && !request.following {
            let kept = self.server().look(request, since);
            if kept.is_some() {
                return kept;
            }
        }
        self.outside(&mut since, self.work(request)).await;
        let mut server = self.server();
        if server.setting().profile.aborts_handlers && *gone.borrow() {
            if server.dice.one_in(2) {
                server.finish(request, true);
            } else {
                server.forget(request);
            }
            return None;
        }
        Some(server.finish(request, false))
    }

    /// Starts the server's work on a request, and gives where its answer comes.
    fn hand_over(
        self: &Arc<Self>,
        request: &Request,
        since: i64,
    ) -> (watch::Sender<bool>, watch::Receiver<Option<WireAnswer>>) {
        let (left, gone) = watch::channel(false);
        let (answered, answer) = watch::channel(None);
        let copies = match self.server().setting().profile.gateway_may_resend {
            true if !request.probe => 2,
            _ => 1,
        };
        let answered = Arc::new(answered);
        for copy in 0..copies {
            let (net, request) = (Arc::clone(self), request.clone());
            let (gone, answered) = (gone.clone(), Arc::clone(&answered));
            drop(tokio::spawn(async move {
                let behind = net.server().dice.between(1, 3_000);
                let mut since = since;
                if copy > 0 {
                    net.outside(&mut since, Duration::from_millis(behind)).await;
                }
                let answer = net.serve(&request, gone, since).await;
                // The first one counts.
                answered.send_if_modified(|slot| {
                    let first = slot.is_none() && answer.is_some();
                    if first {
                        *slot = answer;
                    }
                    first
                });
            }));
        }
        (left, answer)
    }

    /// Carries one request.
    async fn carry(
        self: Arc<Self>,
        wire: WireRequest,
        exchange: Exchange,
        life: Arc<Life>,
        by: u64,
    ) {
        let place = self.server().setting().profile.key_place.clone();
        let request = Request::read(&wire, &place);
        let fate = self.fate(&request);
        let connecting = self.server().dice.between(1, 300);
        self.log.say(format_args!(
            "  {} {} on the way: {fate:?}",
            request.text, request.id
        ));
        sleep(Duration::from_millis(connecting)).await;
        life.runs().await;
        if let Fate::Fails(fault) = fate {
            exchange.failed(fault);
            return;
        }
        if life.is_dead() || !exchange.confirm() {
            exchange.failed(Fault::NotSent);
            return;
        }
        match fate {
            Fate::Fails(_) => {}
            Fate::Lost => exchange.failed(Fault::Lost),
            Fate::Wanders(time) => {
                let number = self.server().receive(&request, by);
                self.server().end(number, false);
                exchange.failed(Fault::Lost);
                let mut since = self.clock.elapsed();
                self.outside(&mut since, time).await;
                drop(self.hand_over(&request, since));
            }
            Fate::Breaks(_) | Fate::Silent | Fate::Answered { .. } => {
                self.exchange(&request, &exchange, fate, by).await;
            }
        }
    }

    async fn exchange(
        self: &Arc<Self>,
        request: &Request,
        exchange: &Exchange,
        fate: Fate,
        by: u64,
    ) {
        let number = self.server().receive(request, by);
        let (left, mut answer) = self.hand_over(request, self.clock.elapsed());
        let forever = Duration::from_secs(1_000_000);
        let breaks = match fate {
            Fate::Breaks(after) => after,
            _ => forever,
        };
        let hears = !matches!(fate, Fate::Silent | Fate::Breaks(_));
        tokio::select! {
            biased;
            () = exchange.stopped() => {}
            _ = answer.wait_for(Option::is_some), if hears => {}
            () = sleep(breaks) => {
                self.server().end(number, false);
                left.send_replace(true);
                exchange.failed(Fault::Lost);
                return;
            }
        }
        let Some(mut answer) = answer.borrow().clone().filter(|_| hears) else {
            self.server().end(number, false);
            left.send_replace(true);
            return;
        };
        let Fate::Answered { cut, twice, late } = fate else {
            return;
        };
        self.log.say(format_args!(
            "  {} is answered {}",
            request.id, answer.status
        ));
        answer.headers.push(header("date", &self.clock.date()));
        if cut {
            answer.body.truncate(answer.body.len() / 2);
            answer.complete = false;
        }
        if late {
            // The client gives up, and what comes then is read all the same.
            exchange.stopped().await;
            self.server().end(number, false);
            let wait = self.server().dice.between(1, 30_000);
            sleep(Duration::from_millis(wait)).await;
        } else {
            self.server().end(number, true);
        }
        exchange.answered(answer.clone());
        if twice {
            sleep(Duration::from_secs(2)).await;
            exchange.answered(answer);
        }
    }
}

/// One process's way to the network.
pub struct Wire {
    pub net: Arc<Net>,
    pub life: Arc<Life>,
    pub process: u64,
}

impl Transport for Wire {
    fn start(&self, request: WireRequest, exchange: Exchange) {
        let carried =
            Arc::clone(&self.net).carry(request, exchange, Arc::clone(&self.life), self.process);
        drop(tokio::spawn(carried));
    }
}
