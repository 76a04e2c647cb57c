use std::time::Duration;

use super::retry_after;
use crate::clock::WallMs;

#[test]
fn retry_after_is_read_in_all_its_forms_and_junk_is_nothing() {
    let wall = WallMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT
    let read = |value| retry_after::parse(value, None, wall);
    assert_eq!(read("120"), Some(Duration::from_secs(120)));
    assert_eq!(read(" 0 "), Some(Duration::ZERO));
    assert_eq!(read("1.5"), Some(Duration::from_millis(1_500)));
    assert_eq!(read("0.0004"), Some(Duration::ZERO));
    for date in [
        "Sun, 06 Nov 1994 08:50:37 GMT",
        "Sunday, 06-Nov-94 08:50:37 GMT",
        "Sun Nov  6 08:50:37 1994",
    ] {
        assert_eq!(read(date), Some(Duration::from_secs(60)), "{date}");
    }
    assert_eq!(read("Sun, 06 Nov 1994 08:40:37 GMT"), Some(Duration::ZERO));
    for junk in [
        "", "-1", "+5", "soon", "1e9", "5.", ".5", "1 2", "0x10", "NaN",
    ] {
        assert_eq!(read(junk), None, "{junk}");
    }
    assert!(read("99999999999999999999999").is_some());
}

#[test]
fn a_date_is_relative_to_the_date_of_the_answer_not_to_the_device() {
    let device_is_a_year_ahead = WallMs(784_111_777_000 + 31_536_000_000);
    let wait = retry_after::parse(
        "Sun, 06 Nov 1994 08:50:37 GMT",
        Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        device_is_a_year_ahead,
    );
    assert_eq!(wait, Some(Duration::from_secs(60)));
}
