//! The window field of the header: the largest values of RFC 9293, 3.1, and RFC 7323.

/// The largest value of the window field.
pub(crate) const LARGEST_FIELD: u32 = (1 << 16) - 1;
/// RFC 7323, 2.3.
pub(crate) const MAX_WINDOW_SCALE: u8 = 14;
/// The largest window that can be advertised.
pub(crate) const MAX_WINDOW_BYTES: u32 = LARGEST_FIELD << MAX_WINDOW_SCALE;
