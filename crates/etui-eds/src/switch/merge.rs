//! What differs between the store and the stock server, record by record.
//!
//! Both sides are compared with what they had when they were last equal, the *base*: so it is known
//! which side has changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What both sides have of one record: the digest of the stock server's text, and the ETag of the
/// store's. A text that no record has stands for a side that is known to differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BothSides {
    pub(super) stock: String,
    pub(super) store: String,
}

/// The records of one collection, by UID.
pub(super) type Base = BTreeMap<String, BothSides>;

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The stock server.
    Stock,
    /// The store.
    Store,
}

/// One record now, as both sides have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RecordNow {
    /// The digest of the stock server's text.
    pub(super) stock: Option<String>,
    /// The ETag of the store's text.
    pub(super) store: Option<String>,
    /// The digest of the store's text, which is the stock server's if both mean the same.
    pub(super) store_digest: Option<String>,
}

/// How a record differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// It does not, or not since both were last equal.
    None,
    /// One side has changed it.
    ChangedBy(Side),
    /// Both have, to different texts.
    Conflict,
}

/// Compares a record with its base.
///
/// A record that one side has changed and the other removed counts as changed: no change is lost.
pub(super) fn compare(base: Option<&BothSides>, now: &RecordNow) -> Difference {
    if now.stock == now.store_digest {
        return Difference::None;
    }
    let stock_changed = base.map(|base| &base.stock) != now.stock.as_ref();
    let store_changed = base.map(|base| &base.store) != now.store.as_ref();
    match (stock_changed, store_changed) {
        (false, false) => Difference::None,
        (true, false) => Difference::ChangedBy(Side::Stock),
        (false, true) => Difference::ChangedBy(Side::Store),
        (true, true) if now.stock.is_none() => Difference::ChangedBy(Side::Store),
        (true, true) if now.store.is_none() => Difference::ChangedBy(Side::Stock),
        (true, true) => Difference::Conflict,
    }
}

/// The base of a record from now on. `difference` is what was left as it is.
pub(super) fn next_base(
    base: Option<&BothSides>,
    now: &RecordNow,
    left: Difference,
) -> Option<BothSides> {
    let old = |side: fn(&BothSides) -> &String| base.map(side).cloned().unwrap_or_default();
    match left {
        Difference::None => match (&now.stock, &now.store) {
            (Some(stock), Some(store)) => Some(BothSides {
                stock: stock.clone(),
                store: store.clone(),
            }),
            _ => None,
        },
        // The other side's text of now is what the change is a change of.
        Difference::ChangedBy(Side::Store) => now.stock.clone().map(|stock| BothSides {
            stock,
            store: old(|base| &base.store),
        }),
        Difference::ChangedBy(Side::Stock) => now.store.clone().map(|store| BothSides {
            stock: old(|base| &base.stock),
            store,
        }),
        // Both sides' changes remain changes.
        Difference::Conflict => base.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(stock: &str, store: &str) -> RecordNow {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        RecordNow {
            stock: text(stock),
            store: text(store).map(|text| format!("tag {text}")),
            store_digest: text(store),
        }
    }

    fn base(text: &str) -> Option<BothSides> {
        next_base(None, &now(text, text), Difference::None)
    }

    #[test]
    fn the_side_that_changed_a_record_is_known() {
        use Difference::{ChangedBy, Conflict, None as Same};
        let cases = [
            ("a", "a", "a", Same),
            ("a", "b", "b", Same),
            ("a", "b", "a", ChangedBy(Side::Stock)),
            ("a", "a", "b", ChangedBy(Side::Store)),
            ("a", "b", "c", Conflict),
            ("a", "", "a", ChangedBy(Side::Stock)),
            ("a", "a", "", ChangedBy(Side::Store)),
            ("a", "", "b", ChangedBy(Side::Store)),
            ("a", "b", "", ChangedBy(Side::Stock)),
            ("a", "", "", Same),
            ("", "a", "", ChangedBy(Side::Stock)),
            ("", "", "a", ChangedBy(Side::Store)),
            ("", "a", "b", Conflict),
            ("", "a", "a", Same),
        ];
        for (before, stock, store, expected) in cases {
            let found = compare(base(before).as_ref(), &now(stock, store));
            assert_eq!(found, expected, "{before:?} {stock:?} {store:?}");
        }
    }

    #[test]
    fn a_difference_that_is_left_is_found_again() {
        for before in ["", "a"] {
            for (stock, store) in [("b", "a"), ("a", "b"), ("", "b"), ("b", "")] {
                let before = base(before);
                let now = now(stock, store);
                let difference = compare(before.as_ref(), &now);
                let next = next_base(before.as_ref(), &now, difference);
                assert_eq!(compare(next.as_ref(), &now), difference, "{stock} {store}");
            }
        }
    }
}
