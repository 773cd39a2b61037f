//! Scores as bits that sort.

/// Bits that compare as unsigned integers the way scores compare as numbers. Zero has one place, whatever its sign.
pub(crate) fn ordered_score(score: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = (score + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The score at a place.
pub(super) fn score_at(place: u64) -> f64 {
    const SIGN: u64 = 1 << 63;
    f64::from_bits(if place & SIGN == 0 { !place } else { place & !SIGN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_sort_as_scores_do() {
        let scores = [f64::NEG_INFINITY, -1e300, -2.0, -1.5, -1e-300, 0.0, 1e-300, 0.5, 1.0, 1.7e12, f64::INFINITY];
        assert!(scores.is_sorted_by_key(|score| ordered_score(*score)));
        assert_eq!(ordered_score(-0.0), ordered_score(0.0));
        for score in scores {
            assert_eq!(score_at(ordered_score(score)).to_bits(), score.to_bits());
        }
    }
}
