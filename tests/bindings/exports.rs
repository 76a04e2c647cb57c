//! Reads from the sources what the library exports. The sources are formatted by rustfmt, which
//! CI checks, so that the indent of a line tells what it belongs to; a test compares what is found
//! with the library's own metadata, so that nothing can be overlooked.

use std::path::Path;

/// What an exported item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Function,
    Record,
    Enum,
    Error,
    Object,
    Trait,
    CustomType,
}

/// Something exported, with what is in it.
#[derive(Debug)]
pub struct Export {
    pub kind: Kind,
    pub name: String,
    pub docs: Vec<String>,
    pub members: Vec<Member>,
}

/// A method, a field or a variant.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    pub docs: Vec<String>,
    /// Of a method: `async fn`.
    pub is_async: bool,
    /// Of a method: makes an object.
    pub is_constructor: bool,
    /// Of a variant: its fields, without members of their own.
    pub fields: Vec<Member>,
}

impl Export {
    /// The names that UniFFI's macros give to the descriptions of this item, in the library.
    pub fn metadata(&self) -> Vec<String> {
        let of = |kind: &str, name: &str| format!("{kind}_{name}").to_uppercase();
        let methods = || {
            self.members.iter().map(|member| {
                let kind = if member.is_constructor {
                    "CONSTRUCTOR"
                } else {
                    "METHOD"
                };
                of(kind, &format!("{}_{}", self.name, member.name))
            })
        };
        let own = |kind: &str| std::iter::once(of(kind, &self.name));
        match self.kind {
            Kind::Function => own("FUNC").collect(),
            Kind::Record => own("RECORD").collect(),
            Kind::Enum => own("ENUM").collect(),
            Kind::Error => own("ERROR").collect(),
            Kind::CustomType => own("CUSTOM_TYPE").collect(),
            Kind::Object | Kind::Trait => own("INTERFACE").chain(methods()).collect(),
        }
    }
}

/// All exports of all sources of the library.
pub fn exports() -> Vec<Export> {
    let mut found = Vec::new();
    let mut methods = Vec::new();
    for (_, text) in sources() {
        Reader::new(&text).read(&mut found, &mut methods);
    }
    for (owner, members) in methods {
        found
            .iter_mut()
            .find(|export: &&mut Export| export.name == owner)
            .unwrap_or_else(|| panic!("methods of {owner} are exported, and it is not"))
            .members
            .extend(members);
    }
    found
}

/// Every Rust source of the library, with its path.
pub fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.display().to_string(), text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&super::workshop::root().join("src"), &mut found);
    found.sort();
    found
}

/// Goes through a file, line by line.
struct Reader<'a> {
    lines: std::iter::Peekable<std::str::Lines<'a>>,
}

/// What stands before an item.
#[derive(Default)]
struct Before {
    docs: Vec<String>,
    attributes: String,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            lines: text.lines().peekable(),
        }
    }

    fn read(mut self, found: &mut Vec<Export>, methods: &mut Vec<(String, Vec<Member>)>) {
        while self.lines.peek().is_some() {
            let before = self.before("");
            let Some(line) = self.lines.next() else { break };
            if line.starts_with("uniffi::custom_type!(") {
                let inside = self.before("    ");
                let line = self.lines.next().unwrap_or_default();
                found.push(Export {
                    kind: Kind::CustomType,
                    name: identifier(line.trim_start()),
                    docs: inside.docs,
                    members: Vec::new(),
                });
            } else if let Some(kind) = before.derived() {
                let (_, name) = line
                    .split_once("struct ")
                    .or(line.split_once("enum "))
                    .unwrap();
                let members = match kind {
                    // The fields of an object are its own business.
                    Kind::Object => Vec::new(),
                    _ => self.members("    "),
                };
                found.push(before.export(kind, name, members));
            } else if before.attributes.contains("uniffi::export") {
                if let Some(owner) = line.strip_prefix("impl ") {
                    methods.push((identifier(owner), self.methods()));
                } else if let Some(name) = line.strip_prefix("pub trait ") {
                    let members = self.methods();
                    found.push(before.export(Kind::Trait, name, members));
                } else if let Some((name, _)) = function(line) {
                    found.push(before.export(Kind::Function, name, Vec::new()));
                }
            }
        }
    }

    /// Reads comments and attributes of this indent, if there are any.
    fn before(&mut self, indent: &str) -> Before {
        let mut before = Before::default();
        while let Some(line) = self.lines.peek().and_then(|line| line.strip_prefix(indent)) {
            if let Some(doc) = line.strip_prefix("///") {
                before.docs.push(doc.trim().to_owned());
            } else if line.starts_with("#[") {
                before.attributes.push_str(line);
                while !before.attributes.ends_with(']') {
                    self.lines.next();
                    let more = self.lines.peek().copied().unwrap_or("]");
                    before.attributes.push_str(more.trim());
                }
            } else {
                break;
            }
            self.lines.next();
        }
        before
    }

    /// The functions of an `impl` or a trait, up to its end.
    fn methods(&mut self) -> Vec<Member> {
        let mut found = Vec::new();
        while self.lines.peek().is_some_and(|line| *line != "}") {
            let before = self.before("    ");
            let Some(line) = self.lines.next() else { break };
            let line = line.strip_prefix("    ").unwrap_or(line);
            if let Some((name, is_async)) = function(line) {
                found.push(Member {
                    name: identifier(name),
                    is_async,
                    is_constructor: before.attributes.contains("uniffi::constructor"),
                    docs: before.docs,
                    fields: Vec::new(),
                });
            }
        }
        found
    }

    /// The fields of a record or the variants of an enum, up to its end.
    fn members(&mut self, indent: &str) -> Vec<Member> {
        let mut found = Vec::new();
        let inner = format!("{indent}    ");
        while self
            .lines
            .peek()
            .is_some_and(|line| line.starts_with(indent))
        {
            let before = self.before(indent);
            let Some(line) = self.lines.next() else { break };
            let line = line.strip_prefix(indent).unwrap_or(line);
            let line = line.strip_prefix("pub ").unwrap_or(line);
            if line.starts_with(|first: char| first.is_alphabetic()) {
                let fields = if line.ends_with('{') {
                    self.members(&inner)
                } else {
                    Vec::new()
                };
                found.push(Member {
                    name: identifier(line),
                    docs: before.docs,
                    is_async: false,
                    is_constructor: false,
                    fields,
                });
            }
        }
        found
    }
}

impl Before {
    fn export(self, kind: Kind, name: &str, members: Vec<Member>) -> Export {
        Export {
            kind,
            name: identifier(name),
            docs: self.docs,
            members,
        }
    }

    fn derived(&self) -> Option<Kind> {
        [
            ("uniffi::Record", Kind::Record),
            ("uniffi::Enum", Kind::Enum),
            ("uniffi::Error", Kind::Error),
            ("uniffi::Object", Kind::Object),
        ]
        .into_iter()
        .find(|(derive, _)| self.attributes.contains(derive))
        .map(|(_, kind)| kind)
    }
}

/// The rest of a line after `fn`, and whether it is async.
fn function(line: &str) -> Option<(&str, bool)> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    match line.strip_prefix("async ") {
        Some(line) => line.strip_prefix("fn ").map(|name| (name, true)),
        None => line.strip_prefix("fn ").map(|name| (name, false)),
    }
}

fn identifier(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}
