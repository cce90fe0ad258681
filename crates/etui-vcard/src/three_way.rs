//! Merging what two sides made of a card since they last agreed.

use std::borrow::Cow;

use etui_contentline::charset::repair_charset;
use etui_contentline::merge::{MergeConflict, MergeRules, MergeSide, MergeWinner, merge};

use crate::card::{Card, VCardVersion};
use crate::error::CardError;

/// How cards are merged.
const RULES: MergeRules = MergeRules {
    keys: &[("VCARD", &[])],
    permanent: &["VCARD"],
    sets: &[
        "ADR",
        "CALADRURI",
        "CALURI",
        "EMAIL",
        "FBURL",
        "IMPP",
        "KEY",
        "LABEL",
        "LANG",
        "MEMBER",
        "RELATED",
        "TEL",
        "URL",
        "X-ABDATE",
        "X-ABRELATEDNAMES",
        "X-ADDRESSBOOKSERVER-MEMBER",
        "X-AIM",
        "X-JABBER",
        "X-SKYPE",
        "X-SOCIALPROFILE",
    ],
    lists: &["CATEGORIES", "NICKNAME"],
    caseless: &["EMAIL", "MEMBER", "X-ADDRESSBOOKSERVER-MEMBER"],
    groups: &[],
    greatest: &["REV"],
    // They describe the notation, which stays.
    ours: &["PRODID", "VERSION"],
};

/// A card on one side: when both sides last agreed, and now.
#[derive(Clone, Copy, Debug)]
pub struct CardSide<'c> {
    /// The card of the last agreement.
    pub base: Option<&'c Card>,
    /// The card now.
    pub card: &'c Card,
}

impl Card {
    /// Merges the changes that `theirs` made into the card of `ours`. What both changed differently is
    /// returned; of that, the card has what `winner` says. Lines that nobody changed keep their bytes.
    ///
    /// The sides may have the card in different versions, and each has its own base: what a server rewrites
    /// when it stores a card is no change. A card of 4.0 here stays one; of other pairs of versions the merged card is
    /// written anew as 4.0, if theirs has changes.
    ///
    /// ```
    /// use etui_contentline::merge::MergeWinner;
    /// use etui_vcard::{Card, CardSide};
    ///
    /// let card = |lines| Card::parse(format!("BEGIN:VCARD\r\nVERSION:4.0\r\n{lines}END:VCARD\r\n"));
    /// let base = card("FN:Ada\r\nTEL:1\r\n")?;
    /// let ours = card("FN:Ada\r\nTEL:1\r\nTEL:2\r\n")?;
    /// let theirs = card("FN:Ada Lovelace\r\nTEL:1\r\n")?;
    /// let base = Some(&base);
    /// let (merged, conflicts) = Card::merge_three_way(
    ///     CardSide { base, card: &ours },
    ///     CardSide { base, card: &theirs },
    ///     MergeWinner::Ours,
    /// )?;
    /// assert_eq!(merged, card("FN:Ada Lovelace\r\nTEL:1\r\nTEL:2\r\n")?);
    /// assert_eq!(conflicts, []);
    /// # Ok::<(), etui_vcard::CardError>(())
    /// ```
    ///
    /// # Errors
    /// [`CardError`] when the merged card would be none, as too large a one.
    pub fn merge_three_way(
        ours: CardSide<'_>,
        theirs: CardSide<'_>,
        winner: MergeWinner,
    ) -> Result<(Self, Vec<MergeConflict>), CardError> {
        if theirs
            .base
            .is_some_and(|base| base.text == theirs.card.text)
        {
            return Ok((ours.card.clone(), Vec::new()));
        }
        let versions = (ours.card.version(), theirs.card.version());
        let is_same_base = |a: Option<&Self>| a.is_none_or(|a| a.version() == versions.0);
        if versions.0 == versions.1 && is_same_base(ours.base) && is_same_base(theirs.base) {
            return merge_texts(
                (ours.base.map(text), text(ours.card)),
                (theirs.base.map(text), text(theirs.card)),
                winner,
            );
        }
        if let (Some(base), VCardVersion::V4_0, VCardVersion::V3_0) =
            (ours.base, versions.0, versions.1)
            && base.version() == VCardVersion::V4_0
        {
            // What 3.0 cannot say is not theirs to change, and what the server made of it is no change.
            let served = theirs
                .base
                .map(|served| base.merge_v3(served))
                .transpose()?;
            let edited = base.merge_v3(theirs.card)?;
            let served = served.as_ref().unwrap_or(base);
            return merge_texts(
                (Some(text(base)), text(ours.card)),
                (Some(text(served)), text(&edited)),
                winner,
            );
        }
        // Ours is written anew only if theirs has changes.
        let v4 = |card: &Self| Cow::Owned::<str>(card.to_v4());
        merge_texts(
            (ours.base.map(v4), v4(ours.card)),
            (theirs.base.map(v4), v4(theirs.card)),
            winner,
        )
    }
}

fn text(card: &Card) -> Cow<'_, str> {
    repair_charset(&card.text)
}

type Text<'c> = Cow<'c, str>;

fn merge_texts(
    ours: (Option<Text<'_>>, Text<'_>),
    theirs: (Option<Text<'_>>, Text<'_>),
    winner: MergeWinner,
) -> Result<(Card, Vec<MergeConflict>), CardError> {
    let ours = MergeSide {
        base: ours.0.as_deref().unwrap_or_default(),
        text: &ours.1,
    };
    let theirs = MergeSide {
        base: theirs.0.as_deref().unwrap_or_default(),
        text: &theirs.1,
    };
    let merged = merge(ours, theirs, winner, &RULES);
    Ok((Card::parse(merged.text)?, merged.conflicts))
}
