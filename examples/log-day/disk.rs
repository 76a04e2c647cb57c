//! What the disk itself takes: an append of 1 KB and a sync, one after the other.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Appends that are measured.
const APPENDS: usize = 500;

/// Microseconds of the median append, measured in this folder.
pub fn fdatasync_us_p50(folder: &Path) -> std::io::Result<u64> {
    let mut file = File::create(folder.join("probe"))?;
    let mut times = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        let begun = Instant::now();
        file.write_all(&[b'x'; 1024])?;
        file.sync_data()?;
        times.push(micros(begun));
    }
    Ok(percentile(&mut times, 50))
}

pub fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// The smallest time that so many of a hundred don't exceed.
pub fn percentile(times: &mut [u64], of_hundred: usize) -> u64 {
    times.sort_unstable();
    let place = (times.len() * of_hundred).div_ceil(100).max(1) - 1;
    times.get(place).copied().unwrap_or_default()
}
