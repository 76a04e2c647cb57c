//! Batches: submissions that are put together from records.
