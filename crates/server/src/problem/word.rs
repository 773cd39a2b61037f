//! The words for what can be refused. Clients match on them, so a word is never renamed.

use axum::http::StatusCode;

macro_rules! words {
    ($($variant:ident $status:ident $word:literal $title:literal,)*) => {
        /// Why a request was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Word { $(#[doc = $title] $variant,)* }

        impl Word {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

words! {
    MalformedJson BAD_REQUEST "malformed_json" "The body is not valid JSON",
    InvalidUtf8 BAD_REQUEST "invalid_utf8" "The body is not valid UTF-8",
    BadCompression BAD_REQUEST "bad_compression" "The body cannot be unpacked",
    BrokenBody BAD_REQUEST "broken_body" "The body ended before it was whole",
    MalformedLine BAD_REQUEST "malformed_line" "A line is not in the line protocol",
    BadParameter BAD_REQUEST "bad_parameter" "A parameter is malformed",
    BadHeader BAD_REQUEST "bad_header" "A header is malformed",
    BadCursor BAD_REQUEST "bad_cursor" "The cursor is not one this server gave",
    Unauthenticated UNAUTHORIZED "unauthenticated" "No valid token",
    Forbidden FORBIDDEN "forbidden" "The token does not allow this",
    UnknownRoute NOT_FOUND "unknown_route" "There is no such route",
    UnknownSeries NOT_FOUND "unknown_series" "There is no such series",
    UnknownGranularity NOT_FOUND "unknown_granularity" "The series has no such granularity",
    UnknownEvent NOT_FOUND "unknown_event" "There is no such event",
    UnknownSession NOT_FOUND "unknown_session" "The event has no such session",
    UnknownViewer NOT_FOUND "unknown_viewer" "There is no such viewer",
    UnknownProject NOT_FOUND "unknown_project" "There is no such project",
    UnknownDimension NOT_FOUND "unknown_dimension" "The project has no such dimension",
    UnknownKey NOT_FOUND "unknown_key" "The dimension has no such key",
    NotDeclared NOT_FOUND "not_declared" "The calculation is not declared",
    UnknownRule NOT_FOUND "unknown_rule" "The project has no such rule",
    UnknownToken NOT_FOUND "unknown_token" "There is no such token",
    MethodNotAllowed METHOD_NOT_ALLOWED "method_not_allowed" "The route has no such method",
    SlowHeaders REQUEST_TIMEOUT "slow_headers" "The headers took too long to arrive",
    SlowBody REQUEST_TIMEOUT "slow_body" "The body took too long to arrive",
    IdempotencyConflict CONFLICT "idempotency_conflict" "The Idempotency-Key was used with another body",
    SeriesHasData CONFLICT "series_has_data" "The series has data",
    EventHasHeartbeats CONFLICT "event_has_heartbeats" "The event has heartbeats",
    ProjectHasValues CONFLICT "project_has_values" "The project has values",
    WrongType CONFLICT "wrong_type" "The key holds another type of data",
    BodyTooLarge PAYLOAD_TOO_LARGE "body_too_large" "The body is too large",
    TooManyHeartbeats PAYLOAD_TOO_LARGE "too_many_heartbeats" "That is more heartbeats than one request may have",
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "The body has a type that is not read here",
    UnsupportedEncoding UNSUPPORTED_MEDIA_TYPE "unsupported_encoding" "The body has an encoding that is not read here",
    BadName UNPROCESSABLE_ENTITY "bad_name" "The name is not allowed",
    RuleBroken UNPROCESSABLE_ENTITY "rule_broken" "Valid JSON that breaks a rule",
    BadUser UNPROCESSABLE_ENTITY "bad_user" "The user is not allowed",
    BadIp UNPROCESSABLE_ENTITY "bad_ip" "That is not an IP address",
    BadCountry UNPROCESSABLE_ENTITY "bad_country" "That is not a country",
    BadGroup UNPROCESSABLE_ENTITY "bad_group" "The group is not allowed",
    TooManyGroups UNPROCESSABLE_ENTITY "too_many_groups" "That is more groups than a heartbeat may have",
    TooManySessions UNPROCESSABLE_ENTITY "too_many_sessions" "That is more sessions than an event may have",
    TooManyLocations UNPROCESSABLE_ENTITY "too_many_locations" "That is more locations than an event may have",
    FutureHeartbeat UNPROCESSABLE_ENTITY "future_heartbeat" "The heartbeat is from too far in the future",
    BadDeclaration UNPROCESSABLE_ENTITY "bad_declaration" "A series cannot be declared like this",
    FromAfterTo UNPROCESSABLE_ENTITY "from_after_to" "The time asked for ends before it begins",
    UnknownCalculation UNPROCESSABLE_ENTITY "unknown_calculation" "There is no such calculation",
    UnknownInterval UNPROCESSABLE_ENTITY "unknown_interval" "There is no such interval",
    BadTimeZone UNPROCESSABLE_ENTITY "bad_time_zone" "There is no such time zone",
    BadTime UNPROCESSABLE_ENTITY "bad_time" "A time is not understood",
    AmbiguousTime UNPROCESSABLE_ENTITY "ambiguous_time" "A local time is not one instant",
    NotFinite UNPROCESSABLE_ENTITY "not_finite" "A value is not a finite number",
    TooManyValues UNPROCESSABLE_ENTITY "too_many_values" "That is more values than one request may have",
    TooManyPoints UNPROCESSABLE_ENTITY "too_many_points" "That is more points than one answer may have",
    TooManyMembers UNPROCESSABLE_ENTITY "too_many_members" "The union has more members than one answer may take",
    UnexpectedMember UNPROCESSABLE_ENTITY "unexpected_member" "An event of a counting series has a member",
    MissingMember UNPROCESSABLE_ENTITY "missing_member" "An event of a series of uniques has no member",
    Overflow UNPROCESSABLE_ENTITY "overflow" "A counter would leave its range",
    BadRule UNPROCESSABLE_ENTITY "bad_rule" "A rule cannot be like this",
    TooManyRules UNPROCESSABLE_ENTITY "too_many_rules" "There are too many rules",
    TooManyTokens UNPROCESSABLE_ENTITY "too_many_tokens" "There are too many tokens",
    TooManyRequests TOO_MANY_REQUESTS "too_many_requests" "The token's requests a second are used up",
    TooManyBytes TOO_MANY_REQUESTS "too_many_bytes" "The token's bytes a day are used up",
    Overloaded SERVICE_UNAVAILABLE "overloaded" "The server has too much to do",
    TimedOut SERVICE_UNAVAILABLE "timed_out" "The answer took too long",
    TooManyListeners SERVICE_UNAVAILABLE "too_many_listeners" "There are too many live connections",
    StoreUnavailable SERVICE_UNAVAILABLE "store_unavailable" "The store does not answer",
    StoreRefusesWrites SERVICE_UNAVAILABLE "store_refuses_writes" "The store refuses writes since one failed",
    FateUnknown SERVICE_UNAVAILABLE "fate_unknown" "The write may or may not have happened",
    PartlyApplied SERVICE_UNAVAILABLE "partly_applied" "Some of the request was applied",
    StillBuilding SERVICE_UNAVAILABLE "still_building" "A declaration is still being worked in",
    Contended SERVICE_UNAVAILABLE "contended" "Too many writers wanted the same thing",
    KeysUnavailable SERVICE_UNAVAILABLE "keys_unavailable" "The keys that sign tokens cannot be fetched",
    Defect INTERNAL_SERVER_ERROR "defect" "A defect in the server",
}

impl Word {
    /// Waiting helps where it is the server, or the caller's allowance, that is short of something.
    pub(super) fn retry_after_s(self) -> Option<u32> {
        match self.status() {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Some(1),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_are_unique() {
        let words: HashSet<_> = Word::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(words.len(), Word::ALL.len());
    }
}
