//! What the archive asks of an app: two permissions, Android 8, and no component.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};

use crate::report::Report;

const ANDROID: &str = "http://schemas.android.com/apk/res/android";

/// Android 8: the first with `java.time`.
const MIN_SDK: &str = "26";

const PERMISSIONS: [&str; 2] = [
    "android.permission.ACCESS_NETWORK_STATE",
    "android.permission.INTERNET",
];

/// Everything else goes into the app's own manifest, and changes the app: a foreground service
/// needs a declaration to the store, a receiver starts the app at boot.
const ELEMENTS: [&str; 4] = ["manifest", "uses-sdk", "uses-permission", "application"];

/// Checks the text of a manifest.
pub fn check(bytes: &[u8], report: &mut Report) {
    let subject = "AndroidManifest.xml";
    let text = String::from_utf8_lossy(bytes);
    let document = match Document::parse(&text) {
        Ok(document) => document,
        Err(error) => {
            // The form inside an APK is a binary one.
            report.fail(subject, format!("not the text form of a manifest: {error}"));
            return;
        }
    };
    let root = document.root_element();
    let mut problems = Vec::new();
    match root.attribute("package") {
        Some(package) if package.starts_with("dev.submitonce") => {}
        package => problems.push(format!(
            "its package is {package:?}, not below dev.submitonce"
        )),
    }
    let min_sdk =
        child(root, "uses-sdk").and_then(|node| node.attribute((ANDROID, "minSdkVersion")));
    if min_sdk != Some(MIN_SDK) {
        problems.push(format!("minSdkVersion is {min_sdk:?}, not {MIN_SDK}"));
    }
    let permissions: BTreeSet<&str> = root
        .children()
        .filter(|node| node.has_tag_name("uses-permission"))
        .filter_map(|node| node.attribute((ANDROID, "name")))
        .collect();
    if permissions != BTreeSet::from(PERMISSIONS) {
        problems.push(format!("asks for {permissions:?}, not for {PERMISSIONS:?}"));
    }
    for node in root.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        if !ELEMENTS.contains(&tag) {
            let name = node
                .attribute((ANDROID, "name"))
                .unwrap_or("without a name");
            problems.push(format!("brings a <{tag}> ({name}) into every app"));
        }
    }
    for attribute in child(root, "application").iter().flat_map(Node::attributes) {
        problems.push(format!("sets {} of every app", attribute.name()));
    }
    let figure = format!(
        "minSdk {MIN_SDK}, {} permissions, no component",
        permissions.len()
    );
    report.judge(subject, problems, figure);
}

fn child<'a>(node: Node<'a, 'a>, tag: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name(tag))
}
