//! [`QueryPlan`]: how a query was answered, for `find --explain`.

use std::fmt;

/// How the records of an answer were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AccessPath {
    /// No filter: the stored list, or the records by id, are read in order.
    #[default]
    ListScan,
    /// Candidates from the index are fetched by id, rechecked unless the index is exact, and
    /// sorted.
    IndexLookup,
    /// The list, or the records by id, are scanned; entries outside a bitmap of candidates from
    /// the index are skipped.
    BitmapScan,
}

impl fmt::Display for AccessPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ListScan => "list scan",
            Self::IndexLookup => "index lookup",
            Self::BitmapScan => "bitmap scan",
        })
    }
}

/// How a query was answered, and the number of records it read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueryPlan {
    /// How the records were found.
    pub access_path: AccessPath,
    /// The filter in its full text form.
    pub filter: String,
    /// Records in the collection.
    pub records: u64,
    /// Candidates from the index. If the bitmap is a complement: the records it excludes.
    pub candidates: u64,
    /// True if every candidate matches.
    pub exact: bool,
    /// Records changed since the index was last merged; each is rechecked.
    pub pending: u64,
    /// Records whose own values were compared with the filter.
    pub rechecked: u64,
    /// List entries, or records by id, that were scanned.
    pub scanned: u64,
    /// Records in the answer.
    pub rows: u64,
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "filter       {}", self.filter)?;
        writeln!(f, "access path  {}", self.access_path)?;
        if self.access_path != AccessPath::ListScan {
            let exact = match self.exact {
                true => " (exact)",
                false => "",
            };
            writeln!(f, "candidates   {}{exact}", self.candidates)?;
            writeln!(f, "pending      {}", self.pending)?;
            writeln!(f, "rechecked    {}", self.rechecked)?;
        }
        writeln!(f, "scanned      {} of {}", self.scanned, self.records)?;
        write!(f, "rows         {}", self.rows)
    }
}
