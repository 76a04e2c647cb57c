//! Folders of the machine that built something: they tell its user's name, and make two builds of
//! the same sources differ.

use memchr::memmem;

/// Folders under which people and their tools build, on any machine.
const USUAL: [&str; 6] = [
    "/home/",
    "/root/",
    "/Users/",
    ":\\Users\\",
    ".cargo/registry",
    ".rustup/toolchains",
];

/// The text around each kind of path that is found.
pub fn found(bytes: &[u8], build_paths: &[String]) -> Vec<String> {
    let named = build_paths.iter().map(String::as_str);
    named
        .chain(USUAL)
        .filter_map(|path| {
            let at = memmem::find(bytes, path.as_bytes())?;
            Some(format!("names a path of the build: {}", around(bytes, at)))
        })
        .collect()
}

/// The printable text around a place, at most so much of it as a line holds.
fn around(bytes: &[u8], at: usize) -> String {
    const MOST: usize = 80;
    let printable = |byte: &u8| byte.is_ascii_graphic();
    let (before, after) = bytes.split_at(at);
    let before = before
        .iter()
        .rev()
        .take(MOST)
        .take_while(|b| printable(b))
        .count();
    let after = after.iter().take(MOST).take_while(|b| printable(b)).count();
    let text = bytes.get(at - before..at + after).unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
