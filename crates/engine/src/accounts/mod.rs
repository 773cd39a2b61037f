//! Who may do what: tokens, their scopes and limits.
//!
//! Tokens of every account are kept in account 0, because a token says which account it opens, not the other way round.
//! Only a hash of a token is stored; the token itself is shown once, when it is made.

mod registry;
mod scope;
mod secret;
mod token;

pub use registry::{Registry, TOKENS_MAX};
pub use scope::{Scope, Scopes};
pub use secret::{Digest, Secret};
pub use token::{Limits, Token, TokenId};
