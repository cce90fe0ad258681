//! [`Plan`]: how a query was answered, for whoever wants to know.

use std::fmt;

/// How records were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Way {
    /// From the list as it stands: nothing is filtered.
    #[default]
    List,
    /// Few candidates from the index, each read, compared if need be, and sorted.
    Gather,
    /// The list from its beginning, each record compared, until the page was full.
    Walk,
    /// A set of candidates from the index; the list, or the set, is gone through for them.
    Set,
    /// Straight from the index, in its order.
    Index,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "the list as it stands",
            Self::Gather => "few candidates from the index, gathered and sorted",
            Self::Walk => "a walk along the list, each record compared",
            Self::Set => "a set of candidates from the index, met along the list",
            Self::Index => "straight from the index, in its order",
        })
    }
}

/// How a query was answered: what was read and compared for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// How records were found.
    pub way: Way,
    /// The filter in its full text form.
    pub filter: String,
    /// Records in the collection.
    pub records: u64,
    /// Records that the index gave as candidates (of a set: how many it has or lacks).
    pub candidates: u64,
    /// Whether the index gives nothing but what matches.
    pub exact: bool,
    /// Records changed since the index was brought up to date, compared besides.
    pub pending: u64,
    /// Records compared with the filter by their own values.
    pub compared: u64,
    /// Places of the list gone through.
    pub passed: u64,
    /// Records in the answer.
    pub rows: u64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "filter      {}", self.filter)?;
        writeln!(f, "way         {}", self.way)?;
        if self.way != Way::List {
            let exact = match self.exact {
                true => " (the index is exact here)",
                false => "",
            };
            writeln!(f, "candidates  {}{exact}", self.candidates)?;
            writeln!(f, "pending     {}", self.pending)?;
            writeln!(f, "compared    {}", self.compared)?;
        }
        writeln!(
            f,
            "passed      {} of {} in the list",
            self.passed, self.records
        )?;
        write!(f, "answer      {}", self.rows)
    }
}
