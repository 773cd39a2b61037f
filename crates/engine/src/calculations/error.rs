//! What calculations can refuse.

use tickmark_stats::TimeError;

use super::{DimensionPath, KeyPath};
use crate::NameError;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalculationError {
    #[error("there is no project {0:?}; values create one, or `PUT /v1/projects/{{project}}`")]
    UnknownProject(String),
    #[error("the project {project:?} has no dimension {dimension:?}; values create one, or declaring it", project = .0.project.as_str(), dimension = .0.dimension.as_str())]
    UnknownDimension(DimensionPath),
    #[error("the dimension {dimension:?} has no key {key:?}; values create one, or declaring it", dimension = .0.dimension.as_str(), key = .0.key.as_str())]
    UnknownKey(KeyPath),
    #[error("`{0}` is not a calculation: count, sum, average, standard_deviation or linear_regression are right")]
    UnknownCalculation(String),
    #[error("{calculation} over {interval} is not declared for {path}; declare it for the key or its dimension")]
    NotDeclared { path: String, calculation: String, interval: String },
    #[error("the project {project:?} has values, kept by the clocks of {zone}; its time zone cannot change any more")]
    HasValues { project: String, zone: String },
    #[error("{done} of {total} values are worked in so far; ask again soon")]
    StillBuilding { done: u64, total: u64 },
    #[error("that is {labels} intervals, more than the {max} one answer may have; declare a longer interval")]
    TooManyLabels { labels: u64, max: u64 },
    #[error("`from` is after `to`")]
    FromAfterTo,
    #[error("a value is a finite number, not {0}")]
    NotFinite(f64),
    #[error(transparent)]
    Time(#[from] TimeError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("there is no rule {0:?} in this project; `GET /v1/projects/{{project}}/rules` lists those there are")]
    UnknownRule(String),
    #[error("{0}")]
    Rule(String),
    #[error("a project has at most {max} rules")]
    TooManyRules { max: u64 },
}
