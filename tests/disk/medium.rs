//! What is on the medium while a database is written, and what a power cut leaves of it.
//!
//! A write is in memory until its file is synced; at a cut any part of what is in memory may have
//! come to the medium, in any order. A failed sync forgets what it was for: the pages look clean,
//! and are never written unless they are changed again.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::sim::SimEntropy;
use crate::common::vfs::{Change, Part};

/// What the system writes at once.
const PAGE: usize = 4_096;
const SECTOR: usize = 512;

/// The files of a database, as the process sees them or as a cut leaves them.
pub type Files = BTreeMap<Part, Vec<u8>>;

#[derive(Debug, Clone)]
enum Pending {
    Written { at: usize, bytes: Vec<u8> },
    Truncated(usize),
}

#[derive(Debug, Clone, Default)]
struct Disked {
    /// As the process sees it. `None` once it is deleted.
    current: Option<Vec<u8>>,
    synced: Vec<u8>,
    /// The folder's entry is on the medium.
    entry: bool,
    pending: Vec<Pending>,
}

/// The medium under one database.
#[derive(Debug, Clone, Default)]
pub struct Medium(BTreeMap<Part, Disked>);

impl Medium {
    /// With the files that are there, all synced.
    pub fn of(folder: &Path) -> Self {
        let mut medium = Self::default();
        for part in Part::ALL {
            let path = folder.join(format!("outbox.sqlite3{}", part.suffix()));
            if let Ok(bytes) = std::fs::read(path) {
                let file = Disked {
                    current: Some(bytes.clone()),
                    synced: bytes,
                    entry: true,
                    pending: Vec::new(),
                };
                medium.0.insert(part, file);
            }
        }
        medium
    }

    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Opened(part) => {
                let file = self.0.entry(*part).or_default();
                file.current.get_or_insert_default();
            }
            Change::Written { part, at, bytes } => {
                let at = usize::try_from(*at).unwrap();
                let bytes = bytes.clone();
                self.pend(*part, Pending::Written { at, bytes });
            }
            Change::Truncated { part, size } => {
                let size = usize::try_from(*size).unwrap();
                self.pend(*part, Pending::Truncated(size));
            }
            Change::Synced(part) => {
                let file = self.0.get_mut(part).unwrap();
                file.sync();
                // With a new log or journal SQLite syncs the folder, which has the database, too.
                if *part != Part::Main && !file.entry {
                    self.sync_folder();
                }
            }
            Change::Dropped(part) => {
                let file = self.0.get_mut(part).unwrap();
                let stays = |pending: &Pending| matches!(pending, Pending::Truncated(_));
                file.pending.retain(stays);
            }
            Change::Deleted { part, synced } => {
                let file = self.0.entry(*part).or_default();
                file.current = None;
                if *synced {
                    self.sync_folder();
                }
            }
        }
    }

    fn pend(&mut self, part: Part, pending: Pending) {
        let file = self.0.get_mut(&part).unwrap();
        pending.write_to(file.current.as_mut().unwrap());
        file.pending.push(pending);
    }

    fn sync_folder(&mut self) {
        self.0.retain(|_, file| file.current.is_some());
        for file in self.0.values_mut() {
            file.entry = true;
        }
    }

    /// As the process sees them.
    pub fn current(&self) -> Files {
        let files = self.0.iter();
        files
            .filter_map(|(part, file)| Some((*part, file.current.clone()?)))
            .collect()
    }

    /// What a cut leaves of it at least.
    pub fn synced(&self) -> Files {
        let files = self.0.iter().filter(|(_, file)| file.entry);
        files
            .map(|(part, file)| (*part, file.synced.clone()))
            .collect()
    }

    /// True if a cut may leave something between the two.
    pub fn is_pending(&self) -> bool {
        self.0.values().any(|file| !file.pending.is_empty())
    }

    /// What a cut may leave, and a text that tells it from others of the same moment.
    pub fn torn(&self, random: &SimEntropy) -> (Files, String) {
        let mut files = Files::new();
        let mut told = String::new();
        let flip = |told: &mut String, of: u64| {
            let kept = random.next() % of != 0;
            told.push(if kept { '1' } else { '0' });
            kept
        };
        // Mostly one piece is lost, or half of them, or all but a few.
        let manner = random.next() % 4;
        let grain = [SECTOR, PAGE, usize::MAX][(random.next() % 3) as usize];
        for (part, file) in &self.0 {
            if !file.entry && !flip(&mut told, 2) {
                continue;
            }
            let mut bytes = file.synced.clone();
            let last = file.pending.len().saturating_sub(1);
            for (n, pending) in file.pending.iter().enumerate() {
                for piece in pending.pieces(grain) {
                    let kept = match manner {
                        0 => flip(&mut told, 2),
                        1 => flip(&mut told, 8),
                        // In order, and the last is torn.
                        2 => n < last || flip(&mut told, 2),
                        _ => !flip(&mut told, 4),
                    };
                    if kept {
                        piece.write_to(&mut bytes);
                    }
                }
            }
            files.insert(*part, bytes);
        }
        // What was all kept or all lost is seen elsewhere.
        (files, format!("{manner} {grain} {told}"))
    }
}

impl Disked {
    /// What is pending comes to the medium, by whole pages, as they are now.
    fn sync(&mut self) {
        let current = self.current.clone().unwrap_or_default();
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Truncated(size) => self.synced.resize(size, 0),
                Pending::Written { at, bytes } => {
                    let first = at / PAGE * PAGE;
                    let end = (at + bytes.len()).next_multiple_of(PAGE).min(current.len());
                    let page = current.get(first..end).unwrap_or_default();
                    let (at, bytes) = (first, page.to_vec());
                    Pending::Written { at, bytes }.write_to(&mut self.synced);
                }
            }
        }
        self.synced.resize(current.len(), 0);
    }
}

impl Pending {
    fn write_to(&self, file: &mut Vec<u8>) {
        match self {
            Self::Truncated(size) => file.resize(*size, 0),
            Self::Written { at, bytes } => {
                let end = at + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*at..end].copy_from_slice(bytes);
            }
        }
    }

    /// Cut where the medium's own pieces end.
    fn pieces(&self, grain: usize) -> Vec<Self> {
        let Self::Written { at, bytes } = self else {
            return vec![self.clone()];
        };
        let (mut at, mut rest) = (*at, bytes.as_slice());
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let room = grain - at % grain;
            let (piece, others) = rest.split_at(room.min(rest.len()));
            let bytes = piece.to_vec();
            pieces.push(Self::Written { at, bytes });
            at += piece.len();
            rest = others;
        }
        pieces
    }
}
