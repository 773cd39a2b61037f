//! Looking at fresh results through the rules of a project.

use tickmark_stats::{Calendar, Interval};
use tickmark_store::{Atom, Batch, Guard, Op};

use super::alert::Alert;
use super::keys::Keys;
use super::outcome::{Figures, Outcome};
use super::rule::{Field, Rule};
use super::state::State;
use super::{Calculation, KeyPath};

/// The rules that a key is under, and on which side of each it was.
#[derive(Debug, Default)]
pub(super) struct Watch {
    rules: Vec<(String, Rule)>,
    sides: Vec<Option<Atom>>,
}

impl Watch {
    /// Of all rules, those that a key is under and whose results are at hand.
    pub(super) fn of(rules: Vec<(String, Rule)>, path: &KeyPath, state: &State) -> Self {
        let is_of = |rule: &Rule| {
            let is_calculated = state.effective.contains(rule.calculation, rule.interval);
            rule.covers(path) && is_calculated && state.ready.contains(rule.interval)
        };
        Self { rules: rules.into_iter().filter(|(_, rule)| is_of(rule)).collect(), sides: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The fields of the sides to be read.
    pub(super) fn fields(&self) -> Vec<Atom> {
        self.rules.iter().map(|(name, _)| Atom::from(name.as_str())).collect()
    }

    pub(super) fn with_sides(mut self, sides: Vec<Option<Atom>>) -> Self {
        self.sides = sides;
        self
    }

    /// The intervals of a kind whose numbers the rules ask for.
    pub(super) fn numbers(&self, interval: Interval, calendar: &Calendar, newest: i64) -> Vec<i64> {
        let of = self.rules.iter().filter(|(_, rule)| rule.interval == interval);
        of.filter_map(|(_, rule)| match &rule.field {
            Field::Latest => Some(calendar.number(interval, tickmark_stats::Timestamp::from_micros(newest))),
            Field::Label(label) => {
                calendar.parse_label(interval, label).ok().map(|start| calendar.number(interval, start))
            }
            Field::Figure(_) => None,
        })
        .collect()
    }

    /// Puts into a batch what a fresh result changes. Answers the alerts decided by it.
    pub(super) fn look(
        &self,
        outcome: &Outcome,
        calculation: Calculation,
        (path, keys): (&KeyPath, &Keys),
        version: u64,
        now_ms: u64,
        batch: &mut Batch,
    ) -> Vec<(Atom, Atom)> {
        let mut fired = Vec::new();
        for ((name, rule), before) in self.rules.iter().zip(&self.sides) {
            if rule.calculation != calculation || rule.interval != outcome.interval {
                continue;
            }
            let Some(value) = value(outcome, &rule.field).filter(|value| value.is_finite()) else { continue };
            let holds = rule.operator.holds(value, rule.threshold);
            let side = Atom::from(format!("{} {}", rule.generation, if holds { "beyond" } else { "within" }));
            if before.as_ref() == Some(&side) {
                continue;
            }
            let field = Atom::from(name.as_str());
            batch.guards.push(Guard::Field { key: keys.sides(), field: field.clone(), is: before.clone() });
            batch.push(Op::HashSet { key: keys.sides(), fields: vec![(field, side)] });
            if holds {
                let alert = Alert {
                    id: format!("{now_ms}-{version}-{name}-{}-{}", path.dimension, path.key),
                    rule: name.clone(),
                    path: path.clone(),
                    calculation: calculation.to_string(),
                    interval: outcome.interval.to_string(),
                    field: rule.field.to_string(),
                    operator: rule.operator.as_str().to_owned(),
                    threshold: rule.threshold,
                    value,
                    at_ms: now_ms,
                    delivery: None,
                };
                fired.push((Atom::from(alert.id.as_str()), alert.write()));
            }
        }
        if !fired.is_empty() {
            batch.push(Op::HashSet { key: keys.fired(), fields: fired.clone() });
        }
        fired
    }
}

fn value(outcome: &Outcome, field: &Field) -> Option<f64> {
    match (field, &outcome.figures) {
        (Field::Latest, Figures::PerInterval(pairs)) => pairs.last().map(|(_, value)| *value),
        (Field::Label(label), Figures::PerInterval(pairs)) => {
            let number = outcome.calendar.parse_label(outcome.interval, label).ok()?;
            let number = outcome.calendar.number(outcome.interval, number);
            pairs.iter().find(|(known, _)| *known == number).map(|(_, value)| *value)
        }
        (Field::Figure(figure), _) => outcome.named().into_iter().find(|(name, _)| name == figure)?.1,
        _ => None,
    }
}
