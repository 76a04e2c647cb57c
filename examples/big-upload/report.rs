//! What was counted, and whether it holds.

use serde::Serialize;

/// A large upload may take this much more memory than a small one, in KiB.
const MOST_MORE_KIB: u64 = 8 * 1024;

/// The figures. Requests and effects are the server's.
#[derive(Serialize)]
pub struct Report {
    pub bytes: u64,
    pub cuts: u32,
    pub requests: usize,
    pub requests_cut: usize,
    pub effects: usize,
    pub digest_equal: bool,
    pub succeeded: bool,
    pub peak_small_kib: Option<u64>,
    pub peak_large_kib: Option<u64>,
    pub seconds: f64,
}

impl Report {
    fn more_kib(&self) -> Option<u64> {
        Some(self.peak_large_kib?.saturating_sub(self.peak_small_kib?))
    }

    /// One effect of the very bytes, each cut repeated once, and no more memory than allowed where
    /// the system tells it.
    pub fn holds(&self) -> bool {
        self.succeeded
            && self.effects == 1
            && self.digest_equal
            && self.requests == self.cuts as usize + 1
            && self.requests_cut == self.cuts as usize
            && self.more_kib().is_none_or(|more| more < MOST_MORE_KIB)
    }

    pub fn print(&self, json: bool) {
        if json {
            let mut value = serde_json::json!(self);
            if let Some(members) = value.as_object_mut() {
                members.insert("peak_more_kib".to_owned(), self.more_kib().into());
                members.insert("holds".to_owned(), self.holds().into());
            }
            println!("{value}");
            return;
        }
        let kib = |kib: Option<u64>| kib.map_or("unknown".to_owned(), |kib| format!("{kib} KiB"));
        println!("  file                {:>12} bytes", self.bytes);
        println!("  connection cut      {:>12} times", self.cuts);
        println!("  requests            {:>12}", self.requests);
        println!("  effects             {:>12}", self.effects);
        println!("  the same bytes      {:>12}", self.digest_equal);
        println!("  peak, small upload  {:>12}", kib(self.peak_small_kib));
        println!("  peak, this one      {:>12}", kib(self.peak_large_kib));
        println!("  seconds             {:>12.1}", self.seconds);
        println!();
        println!(
            "{}",
            if self.holds() {
                "One effect, and no more memory than a small upload takes."
            } else {
                "Something does not hold."
            }
        );
    }
}
