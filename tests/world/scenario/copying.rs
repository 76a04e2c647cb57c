//! What a backup or a cloned device does to an outbox: its files are there a second time.

use std::path::Path;

/// Copies a database with all that is kept beside it, to a name that nothing has yet.
pub fn database(folder: &Path, from: &str, to: &str) -> Result<(), String> {
    let names = |of: &str| -> Vec<String> {
        let all = std::fs::read_dir(folder).unwrap();
        let all = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name.starts_with(of)).collect()
    };
    if !names(to).is_empty() {
        return Err(format!("{to} is there"));
    }
    let found = names(from);
    if !found.iter().any(|name| name == from) {
        return Err(format!("{from} isn't there"));
    }
    for name in found {
        let copy = name.replacen(from, to, 1);
        copy_all(&folder.join(&name), &folder.join(copy));
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy_all(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}
