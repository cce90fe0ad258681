//! [`WrittenVersion`]: the version of vCard that is written.

use etui::contacts::{Card, ConvertedCard};

/// The version of the vCards that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WrittenVersion {
    AsIs,
    #[value(name = "3.0")]
    V3,
    #[value(name = "4.0")]
    V4,
}

impl WrittenVersion {
    /// Returns the card in this version; `None` if it is written as it is.
    pub fn convert(self, card: &Card) -> Option<ConvertedCard> {
        match self {
            Self::AsIs => None,
            Self::V3 => Some(card.convert_to_v3()),
            Self::V4 => Some(card.convert_to_v4()),
        }
    }

    /// Returns the number of the version.
    pub fn number(self) -> &'static str {
        match self {
            Self::AsIs => "",
            Self::V3 => "3.0",
            Self::V4 => "4.0",
        }
    }
}
