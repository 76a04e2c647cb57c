//! What the outboxes of one database share within a process: one store, one pump. Two opens of
//! one path give two handles on one core.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use url::Url;

use crate::clock::{Clock, SystemClock};
use crate::config::{OutboxConfig, Seams};
use crate::delivery::credentials::Desk;
use crate::delivery::engine::{Engine, Parts};
use crate::delivery::http::HttpTransport;
use crate::entropy::{Entropy, SystemEntropy};
use crate::error::{OpenError, StorageError};
use crate::model::headers::REFUSED_HEADERS;
use crate::model::inbox::InboxScope;
use crate::model::key_place;
use crate::model::request::check_origin;
use crate::model::submission::Effect;
use crate::policy::limits::{LONGEST, Limits, OBSERVE_EVERY};
use crate::policy::profile::{KeyPlace, KeySpelling, ServerProfile};
use crate::runtime::{Executor, OwnRuntime, run_blocking};
use crate::store::{OpenReport, Store, StoreConfig, file_identity, make_folder};
use crate::trace::{TARGET, open_kind};

/// One database in one process.
pub(crate) struct Core {
    pub(crate) engine: Arc<Engine>,
    pub(crate) base: Option<Url>,
    pub(crate) profile: ServerProfile,
    /// One account at a time comes or goes.
    pub(crate) signing: Mutex<()>,
    config: OutboxConfig,
    path: PathBuf,
    identity: Option<(u64, u64)>,
    handles: AtomicUsize,
    observers: Mutex<Observers>,
}

#[derive(Default)]
struct Observers {
    count: usize,
    looking: bool,
}

/// The databases that this process has open.
static OPEN: Mutex<Option<HashMap<PathBuf, Weak<Core>>>> = Mutex::new(None);

impl Core {
    /// Opens a database, or gives the core that has it open.
    pub(crate) fn open(
        config: OutboxConfig,
        seams: Seams,
    ) -> Result<(Arc<Self>, OpenReport), OpenError> {
        let opened = Self::open_or_join(config, seams);
        tell_opened(opened.as_ref().map(|(_, report)| report));
        opened
    }

    fn open_or_join(
        config: OutboxConfig,
        seams: Seams,
    ) -> Result<(Arc<Self>, OpenReport), OpenError> {
        let checked = Checked::read(&config)?;
        let path = absolute(&config.path)?;
        if seams.apart {
            // What shares nothing waits for nobody either.
            return Self::make(config, checked, path, seams);
        }
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_with(HashMap::new);
        if let Some(core) = open.get(&path).and_then(Weak::upgrade)
            && core.handles.load(Ordering::Acquire) > 0
            && core.identity == file_identity(&path)
        {
            let config = OutboxConfig {
                // Another spelling of the same path is the same.
                path: core.config.path.clone(),
                ..config
            };
            if core.config != config {
                return Err(OpenError::AlreadyOpen);
            }
            core.handles.fetch_add(1, Ordering::AcqRel);
            let report = OpenReport {
                created: false,
                shared: true,
                ..core.engine.parts().store.report().clone()
            };
            return Ok((core, report));
        }
        let (core, report) = Self::make(config, checked, path.clone(), seams)?;
        open.insert(path, Arc::downgrade(&core));
        open.retain(|_, core| core.strong_count() > 0);
        Ok((core, report))
    }

    fn make(
        config: OutboxConfig,
        checked: Checked,
        path: PathBuf,
        seams: Seams,
    ) -> Result<(Arc<Self>, OpenReport), OpenError> {
        let core = Self::build(config, checked, path, seams)?;
        let report = core.engine.parts().store.report().clone();
        Ok((Arc::new(core), report))
    }

    fn build(
        config: OutboxConfig,
        checked: Checked,
        path: PathBuf,
        seams: Seams,
    ) -> Result<Self, OpenError> {
        let Checked {
            limits,
            base,
            profile,
            user_agent,
        } = checked;
        let clock: Arc<dyn Clock> = seams
            .clock
            .unwrap_or_else(|| Arc::new(SystemClock::new(config.boot.clone())));
        let entropy: Arc<dyn Entropy> = seams.entropy.unwrap_or_else(|| Arc::new(SystemEntropy));
        let store = Store::open(&StoreConfig {
            path: path.clone(),
            vfs: seams.vfs,
            install_id: config.install_id.clone(),
            limits: limits.clone(),
            inbox_scopes: config.inbox_scopes.clone(),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
        })?;
        let executor: Arc<dyn Executor> = match seams.executor {
            Some(executor) => executor,
            None => Arc::new(OwnRuntime::start().map_err(|error| setup(&error))?),
        };
        let transport = match seams.transport {
            Some(transport) => transport,
            None => {
                let http = HttpTransport::new(
                    &limits,
                    &config.tls.clone().unwrap_or_default(),
                    Arc::clone(&executor),
                )?;
                Arc::new(http)
            }
        };
        let store = Arc::new(store);
        store.delete_bodies();
        // What an earlier process didn't come to the end of; a step goes on with it in any case.
        drop(store.purge_some());
        let desk = Desk::new(Arc::clone(&clock), limits.clone());
        let engine = Engine::new(Parts {
            store: Arc::clone(&store),
            desk,
            executor,
            clock,
            entropy,
            transport,
            limits,
            user_agent,
        });
        let changed = engine.changed().clone();
        store.set_after_commit(Box::new(move || changed.send_modify(|count| *count += 1)));
        Ok(Self {
            engine,
            base,
            profile,
            signing: Mutex::default(),
            identity: file_identity(&path),
            config,
            path,
            handles: AtomicUsize::new(1),
            observers: Mutex::default(),
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.engine.parts().limits
    }

    /// Gives a handle back; the last one closes.
    pub(crate) fn release(&self) {
        // Under the registry's lock, so that nobody joins a core that is being closed, and the
        // next opening of the path waits until its locks are free.
        let mut open = lock(&OPEN);
        if self.handles.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        self.engine.parts().desk.forget();
        self.engine.close();
        if let Some(open) = open.as_mut() {
            let is_own = |core: &Weak<Self>| std::ptr::eq(core.as_ptr(), self);
            if open.get(&self.path).is_some_and(is_own) {
                open.remove(&self.path);
            }
        }
    }

    /// Watches for changes, those of other processes included, until the guard is dropped.
    pub(crate) fn observe(self: &Arc<Self>) -> Observing {
        let mut observers = lock(&self.observers);
        observers.count += 1;
        if !std::mem::replace(&mut observers.looking, true) {
            let core = Arc::clone(self);
            self.engine
                .parts()
                .executor
                .spawn(Box::pin(async move { core.look().await }));
        }
        Observing(Arc::clone(self))
    }

    /// Looks, at a slow cadence, whether another process has changed the database. Ends when
    /// nobody observes any more.
    async fn look(self: Arc<Self>) {
        let parts = self.engine.parts();
        // What came between the observer's own first look and this one counts as seen now.
        let mut last = None;
        loop {
            let store = Arc::clone(&parts.store);
            // While it is suspended nothing touches the database, not even to look.
            let version = if self.engine.is_suspended() {
                None
            } else {
                run_blocking(&parts.executor, move || store.data_version()).await
            };
            // A version that can't be read now may be read at the next look.
            if let Some(Ok(version)) = version
                && last.replace(version) != Some(version)
            {
                self.engine.changed().send_modify(|count| *count += 1);
                // There may be something to deliver, too.
                self.engine.nudge();
            }
            parts.executor.sleep(OBSERVE_EVERY).await;
            let mut observers = lock(&self.observers);
            if observers.count == 0 || self.engine.is_closed() {
                observers.looking = false;
                return;
            }
        }
    }
}

/// Somebody waits or listens.
pub(crate) struct Observing(Arc<Core>);

impl Drop for Observing {
    fn drop(&mut self) {
        lock(&self.0.observers).count -= 1;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell_opened(result: Result<&OpenReport, &OpenError>) {
    match result {
        Ok(report) if report.lost_changes > 0 || report.restored || report.salvaged.is_some() => {
            tracing::warn!(
                target: TARGET,
                lost_changes = report.lost_changes,
                restored = report.restored,
                salvaged = report.salvaged.as_ref().map(|salvage| salvage.submissions),
                "opened after a loss"
            );
        }
        Ok(report) => tracing::info!(
            target: TARGET,
            created = report.created,
            shared = report.shared,
            "opened"
        ),
        Err(error) => tracing::warn!(target: TARGET, error = open_kind(error), "not opened"),
    }
}

fn invalid(field: &str, problem: &str) -> OpenError {
    OpenError::InvalidConfig {
        field: field.to_owned(),
        problem: problem.to_owned(),
    }
}

fn setup(error: &dyn std::fmt::Display) -> OpenError {
    OpenError::Setup {
        detail: error.to_string(),
    }
}

/// A configuration that makes sense.
struct Checked {
    limits: Limits,
    base: Option<Url>,
    profile: ServerProfile,
    user_agent: String,
}

impl Checked {
    fn read(config: &OutboxConfig) -> Result<Self, OpenError> {
        let limits = config.limits.clone().unwrap_or_default();
        limits
            .check()
            .map_err(|problem| invalid("limits", problem))?;
        let profile = config.profile.clone().unwrap_or_default();
        check_profile(&profile)?;
        InboxScope::check(&config.inbox_scopes)
            .map_err(|problem| invalid("inbox_scopes", problem))?;
        Ok(Self {
            limits,
            base: config.base_url.as_deref().map(read_base).transpose()?,
            profile,
            user_agent: read_user_agent(config.user_agent.as_deref())?,
        })
    }
}

/// The one spelling of a path within this process, whether the file exists already or not. Makes
/// its folder, since a folder that isn't there yet may be spelled through links that are.
fn absolute(path: &str) -> Result<PathBuf, OpenError> {
    if path.is_empty() || path.contains('\0') {
        return Err(invalid("path", "name a file in a private folder"));
    }
    let unavailable = |error: std::io::Error| {
        OpenError::from(StorageError::Unavailable {
            detail: error.to_string(),
        })
    };
    let path = std::path::absolute(Path::new(path)).map_err(unavailable)?;
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    if let Ok(whole) = path.canonicalize() {
        return Ok(whole);
    }
    // SQLite follows a link to a file that isn't there yet, and puts the log beside that.
    let path = match (std::fs::read_link(&path), path.parent()) {
        (Ok(target), Some(folder)) => folder.join(target),
        _ => path,
    };
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => Ok(folder.join(name)),
        _ => Ok(path),
    }
}

fn read_base(text: &str) -> Result<Url, OpenError> {
    let url =
        Url::parse(text).map_err(|_| invalid("base_url", "use an absolute http or https URL"))?;
    check_origin(&url).map_err(|problem| invalid("base_url", problem))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("base_url", "leave out the query and the fragment"));
    }
    Ok(url)
}

fn check_profile(profile: &ServerProfile) -> Result<(), OpenError> {
    if profile.effect == Effect::Keyed && profile.key_place == KeyPlace::Nowhere {
        return Err(invalid(
            "profile.effect",
            "keyed needs a place for the key; use overwrite or unkeyed",
        ));
    }
    if profile.key_spelling == KeySpelling::SfString
        && !matches!(profile.key_place, KeyPlace::Header { .. })
    {
        return Err(invalid(
            "profile.key_spelling",
            "a structured-field string goes into a header only; use raw",
        ));
    }
    for (field, time) in [
        ("profile.quiet_time", Some(profile.quiet_time)),
        ("profile.retention", profile.retention),
    ] {
        if time.is_some_and(|time| time > LONGEST) {
            return Err(invalid(field, "use less than a hundred years"));
        }
    }
    profile
        .check_rules()
        .map_err(|problem| invalid("profile.rules", problem))?;
    match &profile.key_place {
        KeyPlace::Header { name } => {
            let token = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            let lower = name.to_ascii_lowercase();
            let reserved = REFUSED_HEADERS.iter().any(|(refused, _)| *refused == lower);
            if token && !reserved {
                Ok(())
            } else {
                Err(invalid(
                    "profile.key_place",
                    "use letters, digits and hyphens, and none of HTTP's own headers",
                ))
            }
        }
        KeyPlace::Nowhere
        | KeyPlace::JsonPointer { .. }
        | KeyPlace::Query { .. }
        | KeyPlace::Path { .. } => key_place::check(&profile.key_place)
            .map_err(|problem| invalid("profile.key_place", problem)),
    }
}

fn read_user_agent(text: Option<&str>) -> Result<String, OpenError> {
    let text = text.unwrap_or(concat!("submit-once/", env!("CARGO_PKG_VERSION")));
    if !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Ok(text.to_owned())
    } else {
        Err(invalid("user_agent", "only visible ASCII and spaces"))
    }
}
