//! [`ModType`]: which instances of a series a change is about.

use crate::error::{EdsError, EdsResult, NOT_SUPPORTED};

/// Which instances a modification or removal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModType {
    /// The instance; without one, the series.
    This,
    /// The component that describes the instance alone.
    OnlyThis,
    /// The instance and all earlier ones.
    ThisAndPrior,
    /// The instance and all later ones.
    ThisAndFuture,
    /// The whole series.
    All,
}

impl ModType {
    /// Parses names joined by `:`; all is `this:this-and-prior:this-and-future`.
    pub(super) fn parse(text: &str) -> EdsResult<Self> {
        let mut flags = 0;
        for name in text.split(':') {
            flags |= match name.trim() {
                "" => 0,
                "this" => 1,
                "this-and-prior" => 2,
                "this-and-future" => 4,
                "all" => 7,
                "only-this" => 8,
                _ => return Err(Self::unknown(text)),
            };
        }
        Ok(match flags {
            0 | 1 => Self::This,
            2 => Self::ThisAndPrior,
            4 => Self::ThisAndFuture,
            7 => Self::All,
            8 => Self::OnlyThis,
            _ => return Err(Self::unknown(text)),
        })
    }

    fn unknown(text: &str) -> EdsError {
        let message = format!("\"{text}\" is no type of modification");
        EdsError::new(NOT_SUPPORTED, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_written_out() {
        let parse = |text| ModType::parse(text).ok();
        assert_eq!(parse("this"), Some(ModType::This));
        assert_eq!(
            parse("this:this-and-prior:this-and-future"),
            Some(ModType::All)
        );
        assert_eq!(parse("this-and-future"), Some(ModType::ThisAndFuture));
        assert_eq!(parse("only-this"), Some(ModType::OnlyThis));
        assert_eq!(parse("that"), None);
    }
}
