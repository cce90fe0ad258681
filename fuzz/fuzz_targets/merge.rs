//! Three versions of a record, parted by lines of `=`: the base and what two sides made of it. A side that changed
//! nothing takes what the other has, and a merged calendar object takes nothing more from a side that is in it.

#![no_main]

use etui_contentline::merge::{MergeSide, MergeWinner};
use etui_ical::merge_three_way;
use etui_vcard::{Card, CardSide};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(4, "\n=\n");
    let mut next = || parts.next().unwrap_or_default();
    let (base, ours, theirs) = (next(), next(), next());
    let their_base = parts.next().unwrap_or(base);
    for winner in [MergeWinner::Ours, MergeWinner::Theirs] {
        let side = |base, text| MergeSide { base, text };
        let merge = |ours, theirs| merge_three_way(ours, theirs, winner);
        let same = merge(side(base, ours), side(their_base, their_base));
        assert_eq!(same.text, ours);
        let merged = merge(side(base, ours), side(their_base, theirs));
        assert!(merged.text.len() <= 4 * (ours.len() + theirs.len()) + 16);
        let cards = [base, ours, their_base, theirs].map(|text| Card::parse(text).ok());
        if let [base, Some(ours), their_base, Some(theirs)] = &cards {
            let ours = CardSide {
                base: base.as_ref(),
                card: ours,
            };
            let theirs = CardSide {
                base: their_base.as_ref(),
                card: theirs,
            };
            let _ = Card::merge_three_way(ours, theirs, winner);
        }
    }
});
