//! A rule: which result to watch, and what it must not be.
//!
//! Kept as lines of text, `name value`, because a webhook's address may have anything in it but line breaks.

use std::fmt::{self, Write};
use std::str::FromStr;

use tickmark_stats::{Calendar, Interval};
use tickmark_store::Atom;

use super::{Calculation, CalculationError, KeyPath, PartName};

/// Rules a project may have.
pub const RULES_MAX: u64 = 100;
const TEXT_BYTES_MAX: usize = 2_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub dimension: PartName,
    /// All keys of the dimension, where there is none.
    pub key: Option<PartName>,
    pub calculation: Calculation,
    pub interval: Interval,
    pub field: Field,
    pub operator: Operator,
    pub threshold: f64,
    pub webhook: Option<Webhook>,
    /// Changes with the rule: on which side a key was of another rule says nothing.
    pub generation: u64,
}

/// Where alerts are posted, and what they are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    pub secret: String,
}

/// Which number of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// That of the newest interval, of a result with a number an interval.
    Latest,
    /// That of the interval with this label.
    Label(String),
    /// A figure of a result over all intervals.
    Figure(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

impl Operator {
    pub const ALL: [Self; 5] = [Self::Less, Self::LessOrEqual, Self::Equal, Self::GreaterOrEqual, Self::Greater];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
        }
    }

    pub fn holds(self, value: f64, threshold: f64) -> bool {
        use std::cmp::Ordering;
        let order = value.partial_cmp(&threshold);
        match self {
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Equal => order == Some(Ordering::Equal),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
        }
    }
}

impl FromStr for Operator {
    type Err = CalculationError;

    fn from_str(text: &str) -> Result<Self, CalculationError> {
        let wrong =
            || CalculationError::Rule(format!("`{}` is no operator: <, <=, =, >= or > are right", excerpt(text)));
        Self::ALL.into_iter().find(|operator| operator.as_str() == text).ok_or_else(wrong)
    }
}

impl Field {
    /// Reads the field of a calculation's result; the usual one, where none is named.
    pub fn parse(calculation: Calculation, text: Option<&str>) -> Result<Self, CalculationError> {
        let figures: &[&'static str] = match calculation {
            Calculation::Count | Calculation::Sum => {
                return match text {
                    None | Some("latest") => Ok(Self::Latest),
                    Some(label) if label.len() <= 32 && !label.chars().any(char::is_control) => {
                        Ok(Self::Label(label.to_owned()))
                    }
                    Some(_) => Err(CalculationError::Rule("a label has at most 32 characters, none of control".into())),
                };
            }
            Calculation::Average => &["average"],
            Calculation::StandardDeviation => &["standard_deviation"],
            Calculation::LinearRegression => &["slope", "intercept", "ci_90", "ci_95", "ci_99"],
        };
        let text = text.unwrap_or(figures[0]);
        figures.iter().find(|figure| **figure == text).map(|figure| Self::Figure(figure)).ok_or_else(|| {
            let wrong = format!("`{}` is no field of {calculation}: {} is right", excerpt(text), figures.join(" or "));
            CalculationError::Rule(wrong)
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Label(label) => f.write_str(label),
            Self::Figure(figure) => f.write_str(figure),
        }
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may have a password in it, too.
        f.write_str("Webhook")
    }
}

impl Rule {
    /// Refuses what could not be kept, or would never hold.
    pub fn check(&self, calendar: &Calendar) -> Result<(), CalculationError> {
        if !self.threshold.is_finite() {
            return Err(CalculationError::Rule("a threshold is a finite number".into()));
        }
        if let Field::Label(label) = &self.field {
            calendar.parse_label(self.interval, label)?;
        }
        if let Some(Webhook { url, secret }) = &self.webhook {
            for (what, text) in [("the webhook's address", url), ("the secret", secret)] {
                if text.is_empty() || text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
                    let wrong = format!("{what} has 1 to {TEXT_BYTES_MAX} bytes and no characters of control");
                    return Err(CalculationError::Rule(wrong));
                }
            }
        }
        Ok(())
    }

    pub(super) fn covers(&self, path: &KeyPath) -> bool {
        self.dimension == path.dimension && self.key.as_ref().is_none_or(|key| *key == path.key)
    }

    pub(super) fn write(&self) -> Atom {
        let mut text = format!(
            "dimension {}\ncalculation {}\ninterval {}\nfield {}\noperator {}\nthreshold {:?}\ngeneration {}",
            self.dimension,
            self.calculation,
            self.interval,
            self.field,
            self.operator.as_str(),
            self.threshold,
            self.generation
        );
        if let Some(key) = &self.key {
            let _ = write!(text, "\nkey {key}");
        }
        if let Some(Webhook { url, secret }) = &self.webhook {
            let _ = write!(text, "\nwebhook {url}\nsecret {secret}");
        }
        Atom::from(text)
    }

    /// `None` for what no [`Rule::write`] wrote.
    pub(super) fn read(atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        let of = |name: &str| lines(&text).find(|(known, _)| *known == name).map(|(_, value)| value);
        let calculation: Calculation = of("calculation")?.parse().ok()?;
        let webhook = of("webhook").zip(of("secret"));
        Some(Self {
            dimension: PartName::parse(of("dimension")?).ok()?,
            key: of("key").map(PartName::parse).transpose().ok()?,
            calculation,
            interval: of("interval")?.parse().ok()?,
            field: Field::parse(calculation, of("field")).ok()?,
            operator: of("operator")?.parse().ok()?,
            threshold: of("threshold")?.parse().ok()?,
            webhook: webhook.map(|(url, secret)| Webhook { url: url.to_owned(), secret: secret.to_owned() }),
            generation: of("generation")?.parse().ok()?,
        })
    }
}

/// Lines of `name value`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('\n').filter_map(|line| line.split_once(' '))
}

fn excerpt(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        let part = |text| PartName::parse(text).unwrap();
        let rule = Rule {
            dimension: part("job skills"),
            key: Some(part("C++")),
            calculation: Calculation::LinearRegression,
            interval: Interval::Weeks,
            field: Field::Figure("slope"),
            operator: Operator::GreaterOrEqual,
            threshold: 0.1,
            webhook: Some(Webhook { url: "https://example.com/a b".into(), secret: "s e".into() }),
            generation: 7,
        };
        assert_eq!(Rule::read(&rule.write()), Some(rule.clone()));
        let plain = Rule { key: None, webhook: None, calculation: Calculation::Sum, field: Field::Latest, ..rule };
        assert_eq!(Rule::read(&plain.write()), Some(plain.clone()));
        let label = Rule { field: Field::Label("2014-W42".into()), ..plain };
        assert_eq!(Rule::read(&label.write()), Some(label.clone()));
        assert!(label.check(&Calendar::utc()).is_ok());
        assert!(Rule { interval: Interval::Days, ..label }.check(&Calendar::utc()).is_err());
    }

    #[test]
    fn operators_and_fields() {
        for (text, below, at, above) in [
            ("<", true, false, false),
            ("<=", true, true, false),
            ("=", false, true, false),
            (">=", false, true, true),
            (">", false, false, true),
        ] {
            let operator: Operator = text.parse().unwrap();
            assert_eq!([8.0, 9.0, 10.0].map(|value| operator.holds(value, 9.0)), [below, at, above], "{text}");
        }
        assert!("!=".parse::<Operator>().is_err());
        for (calculation, field, right) in [
            (Calculation::Count, None, true),
            (Calculation::Sum, Some("2014-10"), true),
            (Calculation::Average, Some("average"), true),
            (Calculation::Average, Some("latest"), false),
            (Calculation::LinearRegression, None, true),
            (Calculation::LinearRegression, Some("n"), false),
        ] {
            assert_eq!(Field::parse(calculation, field).is_ok(), right, "{calculation} {field:?}");
        }
    }
}
