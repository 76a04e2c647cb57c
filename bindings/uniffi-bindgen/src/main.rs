//! Generates the Kotlin and Swift bindings of `submit-once` from a built library.

fn main() {
    uniffi::uniffi_bindgen_main();
}
