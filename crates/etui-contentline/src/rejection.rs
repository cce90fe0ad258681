//! Rejected parts of an input.

/// A rejected part of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its first line, the first of the input being 1.
    pub line: u64,
    /// Its last line. Equal to the first where the encoding is not supported.
    pub last_line: u64,
    /// Its offset in bytes from the start of the input.
    pub offset: u64,
    /// Its length in bytes; 0 if something is missing there.
    pub len: u64,
    /// The reason.
    pub reason: RejectReason,
    /// Its beginning, for people to recognise it: at most 80 characters,
    /// control characters escaped, invalid Unicode replaced.
    pub excerpt: String,
}

/// The reason for a rejection, with advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// A BEGIN, but no END before the next BEGIN or the end of the input.
    #[error("the record has no END line; it may be cut off: complete it or export it again")]
    Unterminated,
    /// Lines before, between or after records.
    #[error("this text belongs to no record; remove it, or put BEGIN and END lines around it")]
    Outside,
    /// An END without BEGIN.
    #[error(
        "END without a BEGIN before it; the start of the record may be missing: export it again"
    )]
    StrayEnd,
    /// More bytes than a record may have.
    #[error(
        "the record is larger than {limit} bytes; make its photo or attachment smaller or raise \
         the limit"
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// Records within records, too deep.
    #[error("records are nested more than {limit} deep; take the inner ones out")]
    TooDeep {
        /// The limit, the outermost record counted.
        limit: usize,
    },
    /// An END that is not that of the part begun last.
    #[error("its parts are not ended in the order they were begun in; export it again")]
    Nesting,
    /// A BEGIN and an END with nothing between them.
    #[error("it is empty: nothing stands between BEGIN and END; remove it or export it again")]
    Empty,
    /// A VCALENDAR without its END; its whole components were accepted.
    #[error(
        "the calendar has no END:VCALENDAR line; it may be cut off. What is whole in it was \
         taken; export it again to have the rest"
    )]
    Unended,
    /// The input is in an encoding that is not supported.
    #[error("the text is in {found}, which is not read; convert it to UTF-8")]
    Encoding {
        /// The encoding.
        found: &'static str,
    },
}
