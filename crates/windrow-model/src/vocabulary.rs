//! One way to write a closed list of words: an enum whose every value has a stable text (stored
//! and shown), a sentence of documentation (printed into the docs), and a place in `ALL`.

/// For the macro, which is also used where `utoipa` is not a dependency.
#[doc(hidden)]
pub use utoipa;

/// Declares an enum with `ALL`, `as_str`, `doc`, `Display`, `FromStr`, and serde and schema as its text.
#[macro_export]
macro_rules! vocabulary {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $( #[doc = $doc:literal] $variant:ident = $text:literal ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $( #[doc = $doc] $variant ),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[ $( Self::$variant ),+ ];

            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text ),+ }
            }

            /// One sentence: what it means to be this.
            pub const fn doc(self) -> &'static str {
                match self { $( Self::$variant => $doc ),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::vocabulary::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    $crate::vocabulary::UnknownWord {
                        text: text.to_owned(),
                        expected: Self::ALL.iter().map(|word| word.as_str()).collect(),
                    }
                })
            }
        }

        impl $crate::vocabulary::Word for $name {
            const ALL: &'static [Self] = Self::ALL;
            fn as_str(self) -> &'static str { self.as_str() }
            fn doc(self) -> &'static str { self.doc() }
        }

        impl $crate::vocabulary::utoipa::PartialSchema for $name {
            fn schema() -> $crate::vocabulary::utoipa::openapi::RefOr<$crate::vocabulary::utoipa::openapi::schema::Schema> {
                $crate::vocabulary::schema::<Self>()
            }
        }

        impl $crate::vocabulary::utoipa::ToSchema for $name {}

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// What every vocabulary offers; lets docs and tests walk any of them.
pub trait Word: Copy + Eq + std::fmt::Debug + 'static {
    const ALL: &'static [Self];
    fn as_str(self) -> &'static str;
    fn doc(self) -> &'static str;
}

/// For the description of the API: a text that is one of the words.
pub fn schema<W: Word>() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    let meanings: Vec<String> = W::ALL.iter().map(|word| format!("- `{}`: {}", word.as_str(), word.doc())).collect();
    let words = W::ALL.iter().map(|word| word.as_str());
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .description(Some(meanings.join("\n")))
        .into()
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word {text:?}; expected one of {}", expected.join(", "))]
pub struct UnknownWord {
    pub text: String,
    pub expected: Vec<&'static str>,
}
