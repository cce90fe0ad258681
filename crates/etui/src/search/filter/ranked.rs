//! Ranks: where the plain words of a filter are looked for, and which matches are better than others.
//!
//! ```text
//! rank   contacts
//! 1      plain words in names                                     people
//! 2                                                               organisations
//! 3, 4   ... in names, organisation, e-mail and phone (`any`)     the same
//! 5, 6   ... in titles, postal and notes too (`everywhere`)       the same
//! ```
//!
//! A plain word is one without a field that is not negated: `-tea` excludes as in any other filter.

use super::{FieldSet, Filter, MatchMode};

impl<F: FieldSet> Filter<F> {
    /// Returns the filters of the ranks, the best first. A record has the rank of the first that it
    /// matches; the last is the widest. There is one, this filter, if nothing can be ranked.
    pub(crate) fn ranks(&self) -> Vec<Self> {
        let mut ranks = Vec::new();
        if F::RANKS.len() < 2 || !self.has_plain_words() {
            return vec![self.clone()];
        }
        for &field in F::RANKS {
            let rank = self.map_plain_words(&mut |text, mode| Some(Self::text(field, mode, text)));
            if let Some(last) = F::ranked_last() {
                ranks.push(rank.clone().and(last.not()));
            }
            ranks.push(rank);
        }
        ranks
    }

    fn has_plain_words(&self) -> bool {
        let mut has_words = false;
        // Only the visits matter; the filter is not changed.
        let _ = self.map_plain_words(&mut |_, _| {
            has_words = true;
            None
        });
        has_words
    }

    /// Returns the filter with each plain word replaced by `replace`, or kept where that returns `None`.
    pub(crate) fn map_plain_words(
        &self,
        replace: &mut impl FnMut(&str, MatchMode) -> Option<Self>,
    ) -> Self {
        match self {
            Self::And(parts) => Self::And(
                parts
                    .iter()
                    .map(|part| part.map_plain_words(replace))
                    .collect(),
            ),
            Self::Or(parts) => Self::Or(
                parts
                    .iter()
                    .map(|part| part.map_plain_words(replace))
                    .collect(),
            ),
            Self::Text {
                field,
                mode: mode @ (MatchMode::Words | MatchMode::Prefix),
                text,
            } if *field == F::ANY => replace(text, *mode).unwrap_or_else(|| self.clone()),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::contacts::Filter;

    #[test]
    fn plain_words_are_looked_for_in_more_and_more_fields() {
        let ranks = |text: &str| -> Vec<String> {
            let filter: Filter = text.parse().unwrap();
            filter.ranks().iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            ranks("tea -cup org:acme"),
            [
                "(name:\"tea\"* -any:\"cup\"* org:\"acme\" -kind:\"org\")",
                "(name:\"tea\"* -any:\"cup\"* org:\"acme\")",
                "(any:\"tea\"* -any:\"cup\"* org:\"acme\" -kind:\"org\")",
                "(any:\"tea\"* -any:\"cup\"* org:\"acme\")",
                "(everywhere:\"tea\"* -any:\"cup\"* org:\"acme\" -kind:\"org\")",
                "(everywhere:\"tea\"* -any:\"cup\"* org:\"acme\")",
            ]
        );
        assert_eq!(ranks("org:acme"), ["org:\"acme\""]);
        assert_eq!(ranks("-tea"), ["-any:\"tea\"*"]);
        assert_eq!(ranks("*"), ["*"]);
    }
}
