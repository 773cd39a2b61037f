//! Rules on results.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tickmark_engine::calculations::{Calculation, Field, Operator, PartName, Rule, Webhook};
use tickmark_stats::Interval;
use utoipa::ToSchema;

use super::path::{CalculationText, IntervalText, OfProject, OfRule, PartNameText, ProjectParams, RuleParams};
use super::plan;
use crate::access::Identity;
use crate::clock;
use crate::context::Context;
use crate::hexadecimal::hexadecimal;
use crate::intake::Body;
use crate::once::{self, Answer, Once, Written};
use crate::problem::{Problem, ProblemBody, Result, Word};
use crate::upkeep::Target;

const SECRET_BYTES: usize = 32;

/// What to watch, and what is an alert.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleDeclaration)]
pub(crate) struct RuleBody {
    #[schema(inline, value_type = PartNameText)]
    dimension: String,
    /// All keys of the dimension, where it is missing.
    #[schema(inline, value_type = Option<PartNameText>)]
    key: Option<String>,
    #[schema(inline, value_type = CalculationText)]
    calculation: String,
    #[schema(inline, value_type = IntervalText)]
    interval: String,
    /// Of `count` and `sum`: `latest`, where it is missing, or the label of an interval. Of a line: `slope`, where it is missing,
    /// `intercept`, `ci_90`, `ci_95` or `ci_99`.
    field: Option<String>,
    /// `<`, `<=`, `=`, `>=` or `>`.
    #[schema(pattern = "^(<|<=|=|>=|>)$")]
    operator: String,
    threshold: f64,
    /// Where alerts are posted, if anywhere.
    webhook: Option<String>,
    /// What posts are signed with; made up and shown once, where it is missing.
    secret: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleView {
    rule: String,
    dimension: String,
    key: Option<String>,
    calculation: &'static str,
    interval: &'static str,
    field: String,
    operator: &'static str,
    threshold: f64,
    webhook: Option<String>,
    /// Shown once, when it was made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RuleList {
    rules: Vec<RuleView>,
}

/// The rules of a project, in order of their names.
#[utoipa::path(get, path = "/v1/projects/{project}/rules", tag = "calculations",
    params(ProjectParams),
    responses(
        (status = 200, body = RuleList),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn rules(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
) -> Result<Json<RuleList>> {
    let rules = context.upkeep().calculations().rules(identity.account, &project).await?;
    Ok(Json(RuleList { rules: rules.iter().map(|(name, rule)| RuleView::of(name, rule)).collect() }))
}

/// One rule.
#[utoipa::path(get, path = "/v1/projects/{project}/rules/{rule}", tag = "calculations",
    params(ProjectParams, RuleParams),
    responses(
        (status = 200, body = RuleView),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such rule."),
    ),
)]
pub(crate) async fn show_rule(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    OfRule(name): OfRule,
) -> Result<Json<RuleView>> {
    let rule = context.upkeep().calculations().rule(identity.account, &project, &name).await?;
    Ok(Json(RuleView::of(name.as_str(), &rule)))
}

/// Declares a rule, or changes it.
///
/// When a result comes to be as the rule says, an alert is recorded: once, until it has been otherwise in between. A rule looks at
/// results when they are brought up to date, so it begins with the next value. What it says first counts as coming to be.
#[utoipa::path(put, path = "/v1/projects/{project}/rules/{rule}", tag = "calculations",
    params(ProjectParams, RuleParams),
    request_body(content = RuleBody),
    responses(
        (status = 200, body = RuleView, description = "The rule was there."),
        (status = 201, body = RuleView, description = "The rule is new."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such project."),
    ),
)]
pub(crate) async fn declare_rule(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    OfRule(name): OfRule,
    once: Once,
    body: Body,
) -> Result<Written> {
    let request: RuleBody = body.value()?;
    let mut rule = request.rule()?;
    let mut made_up = None;
    if let Some(webhook) = &mut rule.webhook {
        Target::parse(&webhook.url)?.check_literal(context.settings().webhooks)?;
        if webhook.secret.is_empty() {
            webhook.secret = secret()?;
            made_up = Some(webhook.secret.clone());
        }
    }
    let (upkeep, account) = (context.upkeep(), identity.account);
    upkeep.know(account).await?;
    let (once, tags) = (once.with_body(body.text()), [project.to_string()]);
    let declaring = || async {
        let (writing, is_new) = upkeep.calculations().declare_rule(account, &project, &name, &rule).await?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        let view = RuleView { secret: made_up.clone(), ..RuleView::of(name.as_str(), &rule) };
        Ok(plan(writing, Answer::json(status, &view)?))
    };
    once::commit(&**context.store(), account, &once, &tags, declaring).await
}

/// Deletes a rule. Its alerts stay.
#[utoipa::path(delete, path = "/v1/projects/{project}/rules/{rule}", tag = "calculations",
    params(ProjectParams, RuleParams),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, body = ProblemBody, content_type = "application/problem+json", description = "There is no such rule."),
    ),
)]
pub(crate) async fn delete_rule(
    State(context): State<Context>,
    identity: Identity,
    OfProject(project): OfProject,
    OfRule(name): OfRule,
    once: Once,
) -> Result<Written> {
    let (calculations, tags) = (context.upkeep().calculations(), [project.to_string()]);
    let removing = || async {
        let writing = calculations.removal_of_rule(identity.account, &project, &name).await?;
        Ok(plan(writing, Answer::empty()))
    };
    once::commit(&**context.store(), identity.account, &once, &tags, removing).await
}

impl RuleBody {
    fn rule(&self) -> Result<Rule> {
        let calculation: Calculation = self.calculation.parse()?;
        let secret = self.secret.clone().unwrap_or_default();
        if self.webhook.is_none() && self.secret.is_some() {
            return Err(Problem::new(Word::BadRule, "A `secret` is of use only with a `webhook`."));
        }
        Ok(Rule {
            dimension: PartName::parse(&self.dimension)?,
            key: self.key.as_deref().map(PartName::parse).transpose()?,
            calculation,
            interval: self.interval.parse::<Interval>()?,
            field: Field::parse(calculation, self.field.as_deref())?,
            operator: self.operator.parse::<Operator>()?,
            threshold: self.threshold,
            webhook: self.webhook.clone().map(|url| Webhook { url, secret }),
            generation: clock::now_ms(),
        })
    }
}

impl RuleView {
    fn of(name: &str, rule: &Rule) -> Self {
        Self {
            rule: name.to_owned(),
            dimension: rule.dimension.to_string(),
            key: rule.key.as_ref().map(ToString::to_string),
            calculation: rule.calculation.as_str(),
            interval: rule.interval.as_str(),
            field: rule.field.to_string(),
            operator: rule.operator.as_str(),
            threshold: rule.threshold,
            webhook: rule.webhook.as_ref().map(|webhook| webhook.url.clone()),
            secret: None,
        }
    }
}

fn secret() -> Result<String> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(|error| Problem::new(Word::Defect, error.to_string()))?;
    Ok(hexadecimal(&random))
}
