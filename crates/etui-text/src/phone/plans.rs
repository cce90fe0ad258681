//! The numbering plans: one row a region, sorted by its code, followed by one row
//! for each country calling code that no region owns (800, 870, ...).
//!
//! The rows are in `plan_table.rs`, made by `scripts/phone-plans` from libphonenumber's
//! metadata (calling code, international prefix, trunk prefix, lengths, first digits).
//! The script's head lists how the metadata is reduced. Rows hold small numbers
//! instead of references, so that the table stays in the read-only part of the
//! program and takes no memory of its own.
//!
//! A digit sequence is written with `0`-`9` for themselves, `x` for any digit and
//! `[..]` for any of a few; `|` separates alternatives, the first that fits
//! is taken. For trunk prefixes also:
//!
//! ```text
//! 0              drop these digits
//! 0>11xxxxxx     drop the 0 if these digits follow; a `$` at the end: and no more
//! =268:[457]xx$  a local number of exactly this form: put 268 before it
//! ```

use super::plan_table::PLANS;

/// The rules for the numbers of one region.
pub(super) struct NumberingPlan {
    /// Country calling code.
    pub(super) country: u16,
    /// Whether this region's rules are those of the calling code as a whole
    /// (the United States for 1, Italy for 39).
    pub(super) main: bool,
    /// Row of [`INTERNATIONAL`](super::plan_table::INTERNATIONAL).
    pub(super) international: u8,
    /// Row of [`TRUNK`](super::plan_table::TRUNK).
    pub(super) trunk: u8,
    /// Bit n is set if a national significant number can have n digits.
    pub(super) lengths: u32,
    /// Bit n is set if n digits can be dialled within an area only.
    pub(super) local: u32,
    /// Bit n is set if a national number of n digits can begin with the region's own
    /// calling code. In Germany and Austria, whose numbers have any length, only
    /// short ones count: a longer one is a calling code without its plus.
    pub(super) own: u32,
    /// First row of [`SHAPES`](super::plan_table::SHAPES) and the number of rows.
    pub(super) shapes: (u16, u8),
    /// Numbers dialled with fewer digits than this are short codes.
    pub(super) short: u8,
}

#[allow(clippy::too_many_arguments)] // one call a row of the table
pub(super) const fn plan(
    country: u16,
    main: u8,
    international: u8,
    trunk: u8,
    [lengths, local, own]: [u32; 3],
    shapes: (u16, u8),
    short: u8,
) -> NumberingPlan {
    NumberingPlan {
        country,
        main: main != 0,
        international,
        trunk,
        lengths,
        local,
        own,
        shapes,
        short,
    }
}

/// The row that holds the rules of each country calling code plus one; 0 where
/// the code is not assigned.
pub(super) static MAIN: [u8; 1000] = main_rows();

const fn main_rows() -> [u8; 1000] {
    let mut rows = [0; 1000];
    let mut i = 0;
    while i < PLANS.len() {
        if PLANS[i].main {
            rows[PLANS[i].country as usize] = i as u8 + 1;
        }
        i += 1;
    }
    rows
}

/// The zeros of the decimal digits (Unicode general category Nd) beyond ASCII.
#[rustfmt::skip]
pub(super) static ZEROS: [u32; 65] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66,
    0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810,
    0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec,
    0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
];
