//! Everything a capability can refuse or fail at.

use crate::NameError;
use crate::audience::AudienceError;
use crate::calculations::CalculationError;
use crate::series::SeriesError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] tickmark_store::Error),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Series(#[from] SeriesError),
    #[error(transparent)]
    Audience(#[from] AudienceError),
    #[error(transparent)]
    Calculation(#[from] CalculationError),
    #[error("there is no token {id:?} in this account; `GET /v1/tokens` lists those there are")]
    UnknownToken { id: String },
    #[error("{0}")]
    BadToken(String),
    #[error("there are {max} tokens already; revoke some that are not used")]
    TooManyTokens { max: u64 },
    #[error("a record under {key} is not one this program wrote: {why}")]
    Record { key: String, why: String },
}
