//! Dates as numbers: the proleptic Gregorian calendar, without zones.
//!
//! Our own few lines, because the limits of [`Timestamp`](super::Timestamp) are wider than those of `jiff`, and a
//! local time may be in the year 10000 while its instant is in 9999.

pub(super) const SECOND: i64 = 1_000_000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

const DAYS_IN_400_YEARS: i64 = 146_097;
/// From 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_468;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
}

impl Date {
    /// The date of a day, counted from 1970-01-01.
    ///
    /// Years are taken to begin in March: the leap day is then the last of its year, and the months before any month
    /// have always the same lengths, in fives of 153 days.
    pub(super) fn of_day(day: i64) -> Self {
        let since_march_0 = day + DAYS_TO_1970;
        let era = since_march_0.div_euclid(DAYS_IN_400_YEARS);
        let of_era = since_march_0.rem_euclid(DAYS_IN_400_YEARS);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - days_before_year(year_of_era);
        let month_from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self { year: era * 400 + year_of_era + i64::from(month <= 2), month, day }
    }

    /// The day of a date, counted from 1970-01-01. A day past the end of its month is one of the next month.
    pub(super) fn to_day(self) -> i64 {
        let year_from_march = if self.month <= 2 { self.year - 1 } else { self.year };
        let month_from_march = (self.month + 9) % 12;
        let of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        let of_era = days_before_year(year_from_march.rem_euclid(400)) + of_year;
        year_from_march.div_euclid(400) * DAYS_IN_400_YEARS + of_era - DAYS_TO_1970
    }
}

fn days_before_year(year_of_era: i64) -> i64 {
    year_of_era * 365 + year_of_era / 4 - year_of_era / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        for (year, month, day, number) in [
            (1970, 1, 1, 0),
            (1969, 12, 31, -1),
            (2000, 2, 29, 11_016),
            (2014, 10, 17, 16_360),
            (2100, 3, 1, 47_541),
            (9999, 12, 31, 2_932_896),
            (10_000, 1, 1, 2_932_897),
        ] {
            let date = Date { year, month, day };
            assert_eq!((date.to_day(), Date::of_day(number)), (number, date));
        }
    }

    #[test]
    fn every_day_of_nine_centuries_follows_the_one_before() {
        let lengths = |year: i64| {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let mut number = Date { year: 1600, month: 1, day: 1 }.to_day();
        for year in 1600..2500 {
            for (month, length) in (1..).zip(lengths(year)) {
                for day in 1..=length {
                    assert_eq!(Date::of_day(number), Date { year, month, day });
                    assert_eq!(Date { year, month, day }.to_day(), number);
                    number += 1;
                }
            }
        }
    }
}
