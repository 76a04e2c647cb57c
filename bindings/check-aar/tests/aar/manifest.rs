//! What the archive asks of an app.

use super::fixture::{Candidate, MANIFEST, good};

fn with(from: &str, to: &str) -> Candidate {
    let mut candidate = good();
    assert!(MANIFEST.contains(from), "{from} isn't in the manifest");
    candidate
        .aar
        .put("AndroidManifest.xml", MANIFEST.replace(from, to));
    candidate
}

#[test]
fn a_lower_api_level_is_refused() {
    with("\"26\"", "\"21\"").is_refused("minSdkVersion is Some(\"21\"), not 26");
}

#[test]
fn no_api_level_is_refused() {
    with("<uses-sdk android:minSdkVersion=\"26\" />", "").is_refused("minSdkVersion is None");
}

#[test]
fn no_package_is_refused() {
    with("package=\"dev.submitonce.android\"", "").is_refused("its package is None");
}

#[test]
fn no_other_permission_is_asked_for() {
    let more = "<uses-permission android:name=\"android.permission.RECEIVE_BOOT_COMPLETED\" />";
    with("</manifest>", &format!("{more}</manifest>")).is_refused("RECEIVE_BOOT_COMPLETED");
}

#[test]
fn the_network_is_asked_for() {
    with("android.permission.INTERNET", "android.permission.VIBRATE").is_refused("VIBRATE");
}

#[test]
fn a_foreground_service_is_refused() {
    let service = "<application><service android:name=\"dev.submitonce.Sync\" \
                   android:foregroundServiceType=\"dataSync\" /></application>";
    with("</manifest>", &format!("{service}</manifest>"))
        .is_refused("brings a <service> (dev.submitonce.Sync) into every app");
}

#[test]
fn a_boot_receiver_is_refused() {
    let receiver = "<application><receiver android:name=\".Boot\" /></application>";
    with("</manifest>", &format!("{receiver}</manifest>"))
        .is_refused("brings a <receiver> (.Boot) into every app");
}

#[test]
fn nothing_is_set_for_every_app() {
    let application = "<application android:allowBackup=\"false\" />";
    with("</manifest>", &format!("{application}</manifest>"))
        .is_refused("sets allowBackup of every app");
}

#[test]
fn the_binary_form_of_apks_is_refused() {
    let mut candidate = good();
    candidate.aar.put("AndroidManifest.xml", [3, 0, 8, 0]);
    candidate.is_refused("not the text form of a manifest");
}
