//! [`Loss`]: a part of a contact that a table does not hold.

use std::fmt;

use etui_vcard::PropertyRef;

/// A part of a contact that is not in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The name of the property, such as `PHOTO`, in capitals.
    pub property: String,
    /// Its value as text.
    pub value: String,
    /// The missing part.
    pub kind: LossKind,
}

/// The missing part of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossKind {
    /// All of it.
    Property,
    /// Some of its types.
    Types(Vec<String>),
    /// Its label; or it will be read as something else.
    Label(String),
    /// A parameter of this name.
    Parameter(String),
    /// A part of the value.
    Part(String),
    /// The value has a separator of the table in it, so it will be read as several values.
    Separator,
}

impl Loss {
    pub(crate) fn new(property: &PropertyRef<'_>, kind: LossKind) -> Self {
        Self {
            property: property.name().to_ascii_uppercase(),
            value: property.value(),
            kind,
        }
    }

    /// Describes the missing part for a count: `PHOTO`, `TEL types`.
    pub fn summary(&self) -> String {
        let part = match &self.kind {
            LossKind::Property => "",
            LossKind::Types(_) => " types",
            LossKind::Label(_) => " label",
            LossKind::Parameter(name) => return format!("{} {name}", self.property),
            LossKind::Part(_) => " part",
            LossKind::Separator => " separator",
        };
        format!("{}{part}", self.property)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            property, value, ..
        } = self;
        match &self.kind {
            LossKind::Property => write!(f, "{property}: {value}"),
            LossKind::Types(types) => {
                write!(f, "{property}: the types {} of {value}", types.join(", "))
            }
            LossKind::Label(label) => write!(f, "{property}: the label {label} of {value}"),
            LossKind::Parameter(name) => write!(f, "{property}: the parameter {name} of {value}"),
            LossKind::Part(part) => write!(f, "{property}: {part} of {value}"),
            LossKind::Separator => write!(f, "{property}: {value} is read as several values"),
        }
    }
}

/// The losses of a row.
#[derive(Debug, Default)]
pub(crate) struct Losses(pub(crate) Vec<Loss>);

impl Losses {
    pub(crate) fn push(&mut self, property: &PropertyRef<'_>, kind: LossKind) {
        self.0.push(Loss::new(property, kind));
    }

    /// Adds the parameters that no table holds.
    pub(crate) fn push_parameters(&mut self, property: &PropertyRef<'_>) {
        for name in property.other_parameters() {
            // The notation of the value.
            if !name.eq_ignore_ascii_case("VALUE")
                && !name.eq_ignore_ascii_case("X-APPLE-OMIT-YEAR")
            {
                self.push(property, LossKind::Parameter(name.to_ascii_uppercase()));
            }
        }
    }

    /// Adds label, types and preference of a property whose column has none.
    pub(crate) fn push_labels(&mut self, property: &PropertyRef<'_>) {
        let types = property.types();
        if !types.is_empty() {
            self.push(property, LossKind::Types(types));
        }
        if let Some(label) = property.label() {
            self.push(property, LossKind::Label(label.to_owned()));
        }
        if property.is_preferred() {
            self.push(property, LossKind::Parameter("PREF".to_owned()));
        }
    }
}

/// Properties that describe the record, not the person, or that no table holds.
pub(crate) const TECHNICAL: &[&str] = &[
    "AGENT",
    "CLASS",
    "CLIENTPIDMAP",
    "CREATED",
    "KEY",
    "LABEL",
    "LOGO",
    "MAILER",
    "MEMBER",
    "NAME",
    "PRODID",
    "PROFILE",
    "REV",
    "SORT-STRING",
    "SOUND",
    "SOURCE",
    "UID",
    "XML",
    "X-ABADR",
    "X-ABLABEL",
    "X-ABSHOWAS",
    "X-ABUID",
    "X-PRODID",
];

/// Begin of the names of other programs' own properties.
const TECHNICAL_PREFIXES: &[&str] = &[
    "X-EVOLUTION-",
    "X-KADDRESSBOOK-",
    "X-MOZILLA-",
    "X-NC-",
    "X-RADICALE-",
    "X-WAB-",
];

/// Returns true for a property that describes the record.
pub(crate) fn is_technical(name: &str) -> bool {
    TECHNICAL.contains(&name)
        || TECHNICAL_PREFIXES
            .iter()
            .any(|begin| name.starts_with(begin))
}
