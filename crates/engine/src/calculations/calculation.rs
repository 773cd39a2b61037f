//! The calculations there are. A new one is a line here and its arm in `outcome.rs`.

use std::fmt;
use std::str::FromStr;

use super::CalculationError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Calculation {
    Count,
    Sum,
    Average,
    StandardDeviation,
    LinearRegression,
}

impl Calculation {
    pub const ALL: [Self; 5] = [Self::Count, Self::Sum, Self::Average, Self::StandardDeviation, Self::LinearRegression];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Average => "average",
            Self::StandardDeviation => "standard_deviation",
            Self::LinearRegression => "linear_regression",
        }
    }

    /// Whether the result is a number an interval, rather than a few of all.
    pub const fn is_per_interval(self) -> bool {
        matches!(self, Self::Count | Self::Sum)
    }

    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Calculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Calculation {
    type Err = CalculationError;

    fn from_str(name: &str) -> Result<Self, CalculationError> {
        let known = Self::ALL.into_iter().find(|calculation| calculation.as_str() == name);
        known.ok_or_else(|| CalculationError::UnknownCalculation(name.chars().take(64).collect()))
    }
}
