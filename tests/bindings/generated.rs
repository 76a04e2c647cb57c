//! Everything that is exported arrives in both languages, under the names that people of these
//! languages expect, with its documentation.

use std::collections::BTreeSet;

use super::exports::{Export, Kind, Member, exports, sources};
use super::workshop::WORKSHOP;

/// Kotlin's names of exports that `uniffi.toml` renames.
const KOTLIN_RENAMED: [(&str, &str); 1] = [("Outbox.close", "shutdown")];

/// What `uniffi.toml` leaves out of Kotlin, which can drop a future.
const KOTLIN_EXCLUDED: [&str; 3] = [
    "Cancellation",
    "Outbox.wait_cancellable",
    "Outbox.drain_cancellable",
];

/// What `uniffi.toml` leaves out of Swift, which can't, and the names of what stands there.
const SWIFT_EXCLUDED: [&str; 2] = ["Outbox.wait", "Outbox.drain"];
const SWIFT_RENAMED: [(&str, &str); 2] = [
    ("Outbox.wait_cancellable", "wait"),
    ("Outbox.drain_cancellable", "drain"),
];

/// The exports without what one language leaves out, and how many items that was.
fn exports_without(excluded: &[&str]) -> Vec<Export> {
    let mut left_out = 0;
    let mut kept = exports();
    kept.retain(|export| !excluded.contains(&export.name.as_str()));
    left_out += exports().len() - kept.len();
    for export in &mut kept {
        let before = export.members.len();
        let name = export.name.clone();
        export
            .members
            .retain(|member| !excluded.contains(&format!("{name}.{}", member.name).as_str()));
        left_out += before - export.members.len();
    }
    assert_eq!(left_out, excluded.len(), "some of {excluded:?} isn't there");
    kept
}

#[test]
fn what_is_left_out_of_a_language_is_not_in_it() {
    assert!(!WORKSHOP.kotlin.contains("class Cancellation"));
    assert!(!WORKSHOP.kotlin.contains("Cancellable`("));
    assert!(!WORKSHOP.swift.contains("Cancellable("));
    let waits = WORKSHOP.swift.matches("open func wait(").count();
    assert_eq!(waits, 1);
}

#[test]
fn the_sources_and_the_library_tell_of_the_same_exports() {
    let read: BTreeSet<String> = exports().iter().flat_map(Export::metadata).collect();
    let built: BTreeSet<String> = WORKSHOP
        .metadata
        .iter()
        // Traits such as `Debug` on exported types: how they print, not what they are.
        .filter(|name| !name.starts_with("UNIFFI_TRAIT_"))
        .cloned()
        .collect();
    assert!(read.len() > 50, "most exports were overlooked: {read:?}");
    let only_read: Vec<_> = read.difference(&built).collect();
    let only_built: Vec<_> = built.difference(&read).collect();
    assert!(
        only_read.is_empty() && only_built.is_empty(),
        "only in the sources: {only_read:?}; only in the library: {only_built:?}"
    );
}

#[test]
fn every_export_is_found_in_kotlin() {
    let kotlin = &WORKSHOP.kotlin;
    let mut missing = Missing::default();
    for export in exports_without(&KOTLIN_EXCLUDED) {
        let name = &export.name;
        // What comes right after a type.
        let end = format!("object FfiConverterType{name}");
        match export.kind {
            Kind::Function => {
                missing.unless(kotlin, &format!(" fun `{}`(", lower_camel(name)));
            }
            Kind::CustomType => missing.unless(kotlin, &format!("typealias {name} = ")),
            Kind::Record => {
                let text = missing.part(kotlin, &format!("data class {name} ("), "companion");
                for field in &export.members {
                    missing.unless(text, &format!("val `{}`: ", lower_camel(&field.name)));
                }
            }
            Kind::Enum if export.members.iter().all(|v| v.fields.is_empty()) => {
                let text = missing.part(kotlin, &format!("enum class {name} {{"), &end);
                for variant in &export.members {
                    missing.unless_line(text, &shouty_snake(&variant.name), &[",", ";"]);
                }
            }
            Kind::Enum => {
                let text = missing.part(kotlin, &format!("sealed class {name} {{"), &end);
                for variant in &export.members {
                    let class = if variant.fields.is_empty() {
                        format!("object {} : {name}()", variant.name)
                    } else {
                        format!("data class {}(", variant.name)
                    };
                    let part = missing.part(text, &class, "companion");
                    missing.unless_fields(part, variant);
                }
            }
            Kind::Error => {
                let name = name.replace("Error", "Exception");
                let class = format!("sealed class {name}: kotlin.Exception()");
                let text = missing.part(kotlin, &class, &end);
                for variant in &export.members {
                    let part = missing.part(text, &format!("class {}(", variant.name), "override");
                    missing.unless_fields(part, variant);
                }
            }
            Kind::Trait => {
                let text = missing.part(kotlin, &format!("interface {name} {{"), "\n}\n");
                for method in &export.members {
                    missing.unless(text, &format!("fun `{}`(", lower_camel(&method.name)));
                }
            }
            Kind::Object => {
                let text = missing.part(kotlin, &format!("open class {name}: "), &end);
                for method in &export.members {
                    let renamed = KOTLIN_RENAMED
                        .iter()
                        .find(|(from, _)| *from == format!("{name}.{}", method.name))
                        .map(|(_, to)| (*to).to_owned());
                    let name = renamed.unwrap_or_else(|| lower_camel(&method.name));
                    let start = match (method.is_constructor, method.is_async) {
                        (false, true) => "override suspend fun",
                        (false, false) => "override fun",
                        (true, true) => "suspend fun",
                        (true, false) => "fun",
                    };
                    missing.unless(text, &format!("{start} `{name}`("));
                }
            }
        }
    }
    missing.assert_none("Kotlin");
}

#[test]
fn every_export_is_found_in_swift() {
    let swift = &WORKSHOP.swift;
    let mut missing = Missing::default();
    for export in exports_without(&SWIFT_EXCLUDED) {
        let name = &export.name;
        // What comes right after a type.
        let end = format!("struct FfiConverterType{name}");
        match export.kind {
            Kind::Function => {
                missing.unless(swift, &format!("public func {}(", lower_camel(name)));
            }
            Kind::CustomType => missing.unless(swift, &format!("public typealias {name} = ")),
            Kind::Record => {
                let text = missing.part(swift, &format!("public struct {name}: "), &end);
                for field in &export.members {
                    missing.unless(text, &format!("public let {}: ", lower_camel(&field.name)));
                }
            }
            Kind::Enum => {
                let text = missing.part(swift, &format!("public enum {name}: "), &end);
                for variant in &export.members {
                    missing.unless_case(text, &lower_camel(&variant.name), variant);
                }
            }
            Kind::Error => {
                let text = missing.part(swift, &format!("\nenum {name}: Swift.Error"), &end);
                for variant in &export.members {
                    missing.unless_case(text, &variant.name, variant);
                }
            }
            Kind::Trait => {
                let text = missing.part(swift, &format!("public protocol {name}: "), "\n}\n");
                for method in &export.members {
                    missing.unless(text, &format!("func {}(", lower_camel(&method.name)));
                }
            }
            Kind::Object => {
                let text = missing.part(swift, &format!("open class {name}: "), &end);
                for method in &export.members {
                    let renamed = SWIFT_RENAMED
                        .iter()
                        .find(|(from, _)| *from == format!("{name}.{}", method.name))
                        .map(|(_, to)| (*to).to_owned());
                    let name = renamed.unwrap_or_else(|| lower_camel(&method.name));
                    if method.is_constructor && name == "new" {
                        missing.unless(text, "public convenience init(");
                    } else if method.is_constructor {
                        let quoted = format!("public static func `{name}`(");
                        let plain = format!("public static func {name}(");
                        missing.unless_one_of(text, &[quoted, plain]);
                    } else {
                        let start = format!("open func {name}(");
                        let line = text.lines().find(|line| line.starts_with(&start));
                        let is_async = line.is_some_and(|line| line.contains("async"));
                        if line.is_none() || is_async != method.is_async {
                            missing.0.push(start);
                        }
                    }
                }
            }
        }
    }
    missing.assert_none("Swift");
}

#[test]
fn documentation_travels_to_both_languages() {
    let mut missing = Missing::default();
    let mut sentences = 0;
    for (text, excluded) in [
        (&WORKSHOP.kotlin, KOTLIN_EXCLUDED.as_slice()),
        (&WORKSHOP.swift, SWIFT_EXCLUDED.as_slice()),
    ] {
        for export in exports_without(excluded) {
            // The generator leaves a custom type's own words out: it is only another name.
            let own = if export.kind == Kind::CustomType {
                &[]
            } else {
                export.docs.as_slice()
            };
            let members = export.members.iter();
            let fields = export.members.iter().flat_map(|member| &member.fields);
            let docs = members.chain(fields).flat_map(|member| &member.docs);
            for line in own.iter().chain(docs).filter(|line| !line.is_empty()) {
                sentences += 1;
                missing.unless(text, line);
            }
        }
    }
    assert!(sentences > 600, "most documentation was overlooked");
    missing.assert_none("the generated documentation");
    let known = "Told that something has changed. Only a nudge";
    assert!(WORKSHOP.kotlin.contains(known) && WORKSHOP.swift.contains(known));
}

/// It would end the comment that the generator puts the documentation in, and what comes after it
/// would be code.
#[test]
fn no_documentation_ends_a_comment_of_kotlin_or_swift() {
    for (path, text) in sources() {
        for line in text.lines().map(str::trim_start) {
            let is_doc = line.starts_with("///") || line.starts_with("//!");
            assert!(!(is_doc && line.contains("*/")), "{path}: {line}");
        }
    }
}

/// These names clash with the ones that exceptions and generated classes have already, and the
/// Kotlin does not compile.
#[test]
fn no_export_has_a_name_that_kotlin_cannot_compile() {
    for export in exports() {
        for member in &export.members {
            match export.kind {
                Kind::Error => {
                    for field in &member.fields {
                        assert!(
                            !["message", "cause"].contains(&field.name.as_str()),
                            "a field of {}::{} is called {}",
                            export.name,
                            member.name,
                            field.name
                        );
                    }
                }
                Kind::Object | Kind::Trait => {
                    let renamed = KOTLIN_RENAMED
                        .iter()
                        .any(|(from, _)| *from == format!("{}.{}", export.name, member.name));
                    assert!(
                        renamed || !["close", "destroy"].contains(&member.name.as_str()),
                        "{} has a method {}: rename it for Kotlin in uniffi.toml",
                        export.name,
                        member.name
                    );
                }
                Kind::Function | Kind::Record | Kind::Enum | Kind::CustomType => {}
            }
        }
    }
}

/// Collects what was looked for in vain, so that one run tells all of it.
#[derive(Default)]
struct Missing(Vec<String>);

impl Missing {
    fn unless(&mut self, text: &str, wanted: &str) {
        self.unless_one_of(text, &[wanted.to_owned()]);
    }

    fn unless_one_of(&mut self, text: &str, wanted: &[String]) {
        if !wanted.iter().any(|wanted| text.contains(wanted)) {
            self.0.push(wanted.join(" or "));
        }
    }

    /// A line of its own, perhaps with one of these at its end.
    fn unless_line(&mut self, text: &str, wanted: &str, ends: &[&str]) {
        let found = text.lines().map(str::trim).any(|line| {
            line.strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || ends.contains(&rest))
        });
        if !found {
            self.0.push(wanted.to_owned());
        }
    }

    /// The fields of a variant, in Kotlin.
    fn unless_fields(&mut self, text: &str, variant: &Member) {
        for field in &variant.fields {
            self.unless(text, &format!("val `{}`: ", lower_camel(&field.name)));
        }
    }

    /// A case, in Swift.
    fn unless_case(&mut self, text: &str, name: &str, variant: &Member) {
        if variant.fields.is_empty() {
            let quoted = format!("case `{name}`");
            let found = text.lines().map(str::trim);
            if !found.clone().any(|line| line == quoted) {
                self.unless_line(text, &format!("case {name}"), &[]);
            }
        } else {
            let case = self.part(text, &format!("case {name}("), "\n    )");
            for field in &variant.fields {
                self.unless(case, &format!("{}: ", lower_camel(&field.name)));
            }
        }
    }

    /// The text from one mark to another.
    fn part<'a>(&mut self, text: &'a str, from: &str, to: &str) -> &'a str {
        let Some(start) = text.find(from) else {
            self.0.push(from.to_owned());
            return "";
        };
        let part = &text[start..];
        let end = part[from.len()..].find(to);
        end.map_or(part, |end| &part[..from.len() + end])
    }

    fn assert_none(&self, place: &str) {
        assert!(self.0.is_empty(), "not in {place}: {:#?}", self.0);
    }
}

/// `max_in_flight` and `InFlight` become `maxInFlight` and `inFlight`.
fn lower_camel(name: &str) -> String {
    let mut camel = String::new();
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if camel.is_empty() {
            camel.extend(c.to_lowercase());
        } else if upper {
            camel.extend(c.to_uppercase());
            upper = false;
        } else {
            camel.push(c);
        }
    }
    camel
}

/// `InFlight` becomes `IN_FLIGHT`.
fn shouty_snake(name: &str) -> String {
    let mut shouty = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !shouty.is_empty() {
            shouty.push('_');
        }
        shouty.extend(c.to_uppercase());
    }
    shouty
}
