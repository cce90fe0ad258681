//! What a record's keys must have in them for a filter to match: for views, of which there may be
//! thousands.

use super::{Matcher, Phone};
use crate::notify::Sieve;
use crate::text::phone::Strength;

impl Matcher {
    /// Lets through at least what matches.
    pub(crate) fn sieve(&self) -> Sieve {
        match self {
            Self::Nothing => Sieve::NOTHING,
            Self::All | Self::Not(_) | Self::Present(_) => Sieve::everything(),
            Self::And(parts) => parts
                .iter()
                .map(Self::sieve)
                .max_by_key(Sieve::fineness)
                .unwrap_or_else(Sieve::everything),
            Self::Or(parts) => Sieve::any(parts.iter().map(Self::sieve)),
            Self::Words(words) => Sieve::text(words.finder.needle()),
            Self::Phone(phone) => phone.sieve(),
        }
    }
}

impl Phone {
    fn sieve(&self) -> Sieve {
        match self {
            Self::Equals(number, Strength::Exact) => Sieve::text(number.digits().as_bytes()),
            Self::Equals(number, strength) => Sieve::text(Self::common_end(number, *strength)),
            Self::Begins(forms) | Self::Ends(forms) => {
                Sieve::any(forms.iter().map(|f| Sieve::text(f)))
            }
            Self::Contains(part) => Sieve::text(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::Deriving;
    use crate::contacts::{Card, Filter};
    use crate::text::order::Order;
    use crate::text::phone::Region;
    use etui_testkit::people::People;

    /// Over made-up people and all kinds of filters: whatever matches passes, most else does not.
    #[test]
    fn what_matches_passes() {
        let region = Region::parse("DE");
        let order = Order::new("de").unwrap();
        let people: Vec<_> = People::new(5)
            .take(400)
            .map(|text| {
                let card = Card::parse(text).unwrap();
                (
                    crate::contacts::keys::derive(
                        &card,
                        &Deriving {
                            order: &order,
                            region,
                        },
                    )
                    .keys,
                    card,
                )
            })
            .collect();
        let mut texts: Vec<String> = [
            "*", "-zz", "email:*", "zz", "a", "phone:*1", "-(a b)", "phone:x",
        ]
        .map(str::to_owned)
        .into();
        for (_, card) in people.iter().step_by(10) {
            let name = card.display_name().replace('"', "");
            let start: String = name.chars().take(3).collect();
            texts.push(format!("name:\"{name}\""));
            texts.push(format!("{start} or org:acme"));
            texts.push(format!("name:*{start}* -email:*.example"));
            for phone in card.phones() {
                let number = phone.value;
                let digits: String = number.chars().filter(char::is_ascii_digit).collect();
                let end = &digits[digits.len().saturating_sub(5)..];
                for kind in ["phone", "phone.national", "phone.short"] {
                    texts.push(format!("{kind}:\"{number}\""));
                }
                texts.push(format!("phone:*{end}"));
                texts.push(format!("phone:*{end}*"));
                texts.push(format!("phone:\"{}\"*", &digits[..digits.len().min(4)]));
            }
            for email in card.emails() {
                texts.push(format!("email:{}", email.value));
                texts.push(format!("email:*{}", &email.value[email.value.len() / 2..]));
            }
        }
        let (mut passed, mut matched) = (0, 0);
        for text in texts {
            let Ok(filter) = text.parse::<Filter>() else {
                continue;
            };
            let matcher = Matcher::new(&filter, region);
            let sieve = matcher.sieve();
            for (keys, _) in &people {
                let passes = sieve.passes_keys(keys);
                passed += u32::from(passes);
                if matcher.matches(keys) {
                    assert!(passes, "{text}");
                    matched += 1;
                }
            }
        }
        assert!(
            matched > 1_000 && passed < matched * 4,
            "{passed} for {matched}"
        );
    }
}
