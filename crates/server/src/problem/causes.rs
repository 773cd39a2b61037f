//! Which word the errors of the layers below get. The one place where an error becomes a status.

use tickmark_engine::audience::AudienceError;
use tickmark_engine::calculations::CalculationError;
use tickmark_engine::series::SeriesError;
use tickmark_engine::{Error as EngineError, NameError};
use tickmark_stats::TimeError;
use tickmark_store::Error as StoreError;

use super::{Problem, Word};

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        let word = match error {
            EngineError::Store(error) => return error.into(),
            EngineError::Name(error) => return error.into(),
            EngineError::Series(error) => return error.into(),
            EngineError::Audience(error) => return error.into(),
            EngineError::Calculation(error) => return error.into(),
            EngineError::BadToken(_) => Word::RuleBroken,
            EngineError::UnknownToken { .. } => Word::UnknownToken,
            EngineError::TooManyTokens { .. } => Word::TooManyTokens,
            EngineError::Record { .. } => return hidden(Word::StoreUnavailable, &error),
        };
        Self::new(word, error.to_string())
    }
}

impl From<SeriesError> for Problem {
    fn from(error: SeriesError) -> Self {
        let word = match error {
            SeriesError::Unknown { .. } => Word::UnknownSeries,
            SeriesError::UnknownGranularity { .. } => Word::UnknownGranularity,
            SeriesError::FromAfterTo { .. } => Word::FromAfterTo,
            SeriesError::TooManyPoints { .. } => Word::TooManyPoints,
            SeriesError::TooManyMembers { .. } => Word::TooManyMembers,
            SeriesError::UnexpectedMember { .. } => Word::UnexpectedMember,
            SeriesError::MissingMember { .. } => Word::MissingMember,
            SeriesError::MemberLength { .. } => Word::RuleBroken,
            SeriesError::Overflow { .. } => Word::Overflow,
            SeriesError::HasData { .. } => Word::SeriesHasData,
            SeriesError::Declaration(_) => Word::BadDeclaration,
            SeriesError::Name(error) => return error.into(),
        };
        Self::new(word, error.to_string())
    }
}

impl From<AudienceError> for Problem {
    fn from(error: AudienceError) -> Self {
        let word = match error {
            AudienceError::UnknownEvent { .. } => Word::UnknownEvent,
            AudienceError::UnknownSession { .. } => Word::UnknownSession,
            AudienceError::UnknownViewer { .. } => Word::UnknownViewer,
            AudienceError::Hash { .. } => Word::BadName,
            AudienceError::User { .. } => Word::BadUser,
            AudienceError::TooManyGroups { .. } => Word::TooManyGroups,
            AudienceError::Group { .. } => Word::BadGroup,
            AudienceError::Country { .. } => Word::BadCountry,
            AudienceError::Future { .. } => Word::FutureHeartbeat,
            AudienceError::TooManyHeartbeats => Word::TooManyHeartbeats,
            AudienceError::TooManySessions { .. } => Word::TooManySessions,
            AudienceError::TooManyLocations => Word::TooManyLocations,
            AudienceError::Threshold { .. } => Word::RuleBroken,
            AudienceError::HasHeartbeats { .. } => Word::EventHasHeartbeats,
            AudienceError::FromAfterTo { .. } => Word::FromAfterTo,
            AudienceError::TooManyRecords { .. } => Word::TooManyPoints,
            AudienceError::Name(error) => return error.into(),
        };
        Self::new(word, error.to_string())
    }
}

impl From<CalculationError> for Problem {
    fn from(error: CalculationError) -> Self {
        let word = match error {
            CalculationError::UnknownProject(_) => Word::UnknownProject,
            CalculationError::UnknownDimension(_) => Word::UnknownDimension,
            CalculationError::UnknownKey(_) => Word::UnknownKey,
            CalculationError::UnknownCalculation(_) => Word::UnknownCalculation,
            CalculationError::NotDeclared { .. } => Word::NotDeclared,
            CalculationError::HasValues { .. } => Word::ProjectHasValues,
            CalculationError::StillBuilding { .. } => Word::StillBuilding,
            CalculationError::TooManyLabels { .. } => Word::TooManyPoints,
            CalculationError::FromAfterTo => Word::FromAfterTo,
            CalculationError::NotFinite(_) => Word::NotFinite,
            CalculationError::UnknownRule(_) => Word::UnknownRule,
            CalculationError::Rule(_) => Word::BadRule,
            CalculationError::TooManyRules { .. } => Word::TooManyRules,
            CalculationError::Time(error) => return error.into(),
            CalculationError::Name(error) => return error.into(),
        };
        Self::new(word, error.to_string())
    }
}

impl From<TimeError> for Problem {
    fn from(error: TimeError) -> Self {
        let word = match error {
            TimeError::UnknownZone(_) => Word::BadTimeZone,
            TimeError::UnknownInterval(_) => Word::UnknownInterval,
            TimeError::Ambiguous { .. } | TimeError::Skipped { .. } => Word::AmbiguousTime,
            _ => Word::BadTime,
        };
        Self::new(word, error.to_string())
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        Self::new(Word::BadName, error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let word = match error {
            StoreError::EmptyKey
            | StoreError::TooLong { .. }
            | StoreError::TooMany { .. }
            | StoreError::ScoreNotANumber { .. }
            | StoreError::NotFinite { .. }
            | StoreError::BadHll { .. } => Word::RuleBroken,
            StoreError::WrongType { .. } | StoreError::NotANumber { .. } => Word::WrongType,
            StoreError::Overflow { .. } => Word::Overflow,
            StoreError::BadCursor => Word::BadCursor,
            StoreError::GuardFailed { .. } => Word::Contended,
            StoreError::FateUnknown(_) => return hidden(Word::FateUnknown, &error),
            StoreError::Poisoned(_) => return hidden(Word::StoreRefusesWrites, &error),
            StoreError::CrossSlot { .. } | StoreError::Shape { .. } => return hidden(Word::Defect, &error),
            _ => return hidden(Word::StoreUnavailable, &error),
        };
        Self::new(word, error.to_string())
    }
}

/// What is nobody's business but the operator's: addresses and paths go to the log, not to the client.
fn hidden(word: Word, error: &dyn std::error::Error) -> Problem {
    tracing::error!(error = %error, "{}", word.title());
    let detail = match word {
        Word::FateUnknown => {
            "The connection to the store was lost while writing. Send it again with the same Idempotency-Key; without one, look first."
        }
        Word::StoreRefusesWrites => "A write failed, so the store takes no more until it is reopened. Reading goes on.",
        Word::Defect => "This is not your fault. The server's log has the details.",
        _ => "The server is up, but its store does not answer. The server's log has the details.",
    };
    Problem::new(word, detail)
}
