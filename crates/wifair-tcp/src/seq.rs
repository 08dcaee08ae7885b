//! Comparison of sequence numbers, modulo 2³² (RFC 9293, 3.4). Meaningful for numbers less than 2³¹ apart.

/// True if `a` comes before `b`.
pub(crate) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// True if `a` comes after `b`.
pub(crate) fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// The later of both.
pub(crate) fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        assert!(before(u32::MAX, 0));
        assert!(after(5, u32::MAX - 5));
        assert!(!before(7, 7) && !after(7, 7));
        assert_eq!(later(u32::MAX, 3), 3);
        assert_eq!(later(3, u32::MAX), 3);
    }
}
