//! What is recorded when a result crosses a threshold: once a crossing, whoever notices it.
//!
//! The side of the rule that a key is on is kept beside the key, and changed in the same batch as the results that changed it, under
//! a guard; an alert is decided in that batch too. From there it is listed and put out for posting, by whoever decided it or,
//! after a crash, by whoever refreshes the key next. An alert has one name throughout, so listing it twice is listing it once.

use std::ops::Bound;

use tickmark_store::{Account, AddWhen, Atom, Batch, Guard, Key, Op, Order, Query, Reply, ScoreRange};

use super::catalog::{Calculations, Part, Writing, foreign};
use super::rule::{RULES_MAX, Rule, lines};
use super::{CalculationError, KeyPath, PartName};
use crate::Result;

/// Alerts kept of a project; the oldest go first.
pub const ALERTS_MAX: u64 = 10_000;
/// How long whoever posts an alert is left alone with it.
const POST_LEASE_MS: u64 = 30_000;

/// A result crossed a threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Of the project, and in the order of time.
    pub id: String,
    pub rule: String,
    pub path: KeyPath,
    pub calculation: String,
    pub interval: String,
    pub field: String,
    pub operator: String,
    pub threshold: f64,
    pub value: f64,
    pub at_ms: u64,
    /// Where it is to be posted, and how that went.
    pub delivery: Option<Delivery>,
}

/// How posting an alert went so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Pending { attempts: u32 },
    Delivered,
    Failed,
}

/// An alert that is to be posted now.
#[derive(Clone, Debug)]
pub struct Posting {
    pub alert: Alert,
    pub url: String,
    pub secret: String,
    pub attempts: u32,
}

impl Alert {
    pub(super) fn write(&self) -> Atom {
        let Self { rule, path, calculation, interval, field, operator, threshold, value, at_ms, .. } = self;
        Atom::from(format!(
            "rule {rule}\ndimension {}\nkey {}\ncalculation {calculation}\ninterval {interval}\nfield {field}\n\
             operator {operator}\nthreshold {threshold:?}\nvalue {value:?}\nat {at_ms}",
            path.dimension, path.key
        ))
    }

    fn read(project: &PartName, id: &str, atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        let of = |name: &str| lines(&text).find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
        let part = |name| PartName::parse(&of(name)?).ok();
        Some(Self {
            id: id.to_owned(),
            rule: of("rule")?,
            path: KeyPath { project: project.clone(), dimension: part("dimension")?, key: part("key")? },
            calculation: of("calculation")?,
            interval: of("interval")?,
            field: of("field")?,
            operator: of("operator")?,
            threshold: of("threshold")?.parse().ok()?,
            value: of("value")?.parse().ok()?,
            at_ms: of("at")?.parse().ok()?,
            delivery: None,
        })
    }
}

impl Calculations {
    /// What makes a rule so.
    pub async fn declare_rule(
        &self,
        account: Account,
        project: &PartName,
        name: &PartName,
        rule: &Rule,
    ) -> Result<(Writing, bool)> {
        let settings = self.project(account, project).await?;
        rule.check(&settings.calendar)?;
        let key = self.project_keys(project).rules();
        let field = Atom::from(name.as_str());
        let queries =
            vec![Query::HashGet { key: key.clone(), field: field.clone() }, Query::HashLen { key: key.clone() }];
        let mut replies = self.ask(account, queries).await?.into_iter();
        let old = replies.next().map_or(Ok(None), Reply::value)?;
        let count = replies.next().map_or(Ok(0), Reply::count)?;
        if old.is_none() && count >= RULES_MAX {
            return Err(CalculationError::TooManyRules { max: RULES_MAX }.into());
        }
        let is_new = old.is_none();
        let batch = Batch::new()
            .guard(Guard::Field { key: key.clone(), field: field.clone(), is: old })
            .op(Op::HashSet { key, fields: vec![(field, rule.write())] });
        Ok((one(project, batch), is_new))
    }

    pub async fn rule(&self, account: Account, project: &PartName, name: &PartName) -> Result<Rule> {
        self.project(account, project).await?;
        let key = self.project_keys(project).rules();
        let query = Query::HashGet { key: key.clone(), field: Atom::from(name.as_str()) };
        let found = self.ask_one(account, query).await?.value()?;
        let atom = found.ok_or_else(|| CalculationError::UnknownRule(name.to_string()))?;
        Rule::read(&atom).ok_or_else(|| foreign(&key, &atom))
    }

    /// The rules of a project, in order of their names.
    pub async fn rules(&self, account: Account, project: &PartName) -> Result<Vec<(String, Rule)>> {
        self.project(account, project).await?;
        let key = self.project_keys(project).rules();
        read_rules(&key, self.ask_one(account, Query::HashAll { key: key.clone() }).await?)
    }

    pub async fn removal_of_rule(&self, account: Account, project: &PartName, name: &PartName) -> Result<Writing> {
        self.rule(account, project, name).await?;
        let key = self.project_keys(project).rules();
        Ok(one(project, Batch::new().op(Op::HashRemove { key, fields: vec![Atom::from(name.as_str())] })))
    }

    /// The channel that tells of alerts.
    pub fn alert_channel(&self, project: &PartName) -> Key {
        self.project_keys(project).alert_index()
    }

    /// Alerts of a project, the newest first, from before one.
    pub async fn alerts(
        &self,
        account: Account,
        project: &PartName,
        before_ms: Option<u64>,
        limit: u32,
    ) -> Result<(Vec<Alert>, Option<u64>)> {
        self.project(account, project).await?;
        let keys = self.project_keys(project);
        let to = before_ms.map_or(Bound::Unbounded, |before| Bound::Excluded(before as f64));
        let range = ScoreRange { from: Bound::Unbounded, to };
        let (order, limit) = (Order::Descending, u64::from(limit));
        let query = Query::SortedRange { key: keys.alert_index(), range, order, offset: 0, limit };
        let found = self.ask_one(account, query).await?.scored()?;
        let is_full = found.len() as u64 == limit;
        let ids: Vec<Atom> = found.iter().map(|(id, _)| id.clone()).collect();
        let queries = vec![
            Query::HashGetMany { key: keys.alerts(), fields: ids.clone() },
            Query::HashGetMany { key: keys.deliveries(), fields: ids.clone() },
        ];
        let mut replies = self.ask(account, queries).await?.into_iter();
        let records = replies.next().map_or(Ok(Vec::new()), Reply::values)?;
        let deliveries = replies.next().map_or(Ok(Vec::new()), Reply::values)?;
        let mut alerts = Vec::with_capacity(ids.len());
        for ((id, record), delivery) in ids.iter().zip(records).zip(deliveries) {
            let Some(record) = record else { continue };
            let mut alert =
                Alert::read(project, &id.to_string(), &record).ok_or_else(|| foreign(&keys.alerts(), &record))?;
            alert.delivery = delivery.and_then(|delivery| Delivery::read(&delivery));
            alerts.push(alert);
        }
        let next = alerts.last().filter(|_| is_full).map(|alert| alert.at_ms);
        Ok((alerts, next))
    }

    /// Lists what was decided for a key, and puts it out for posting.
    pub(super) async fn list_fired(
        &self,
        account: Account,
        path: &KeyPath,
        fired: Vec<(Atom, Atom)>,
        now_ms: u64,
    ) -> Result<()> {
        if fired.is_empty() {
            return Ok(());
        }
        let keys = self.project_keys(&path.project);
        let rules = self.ask_one(account, Query::HashAll { key: keys.rules() }).await?;
        let rules = read_rules(&keys.rules(), rules)?;
        let mut index = Vec::new();
        let (mut deliveries, mut posts) = (Vec::new(), Vec::new());
        for (id, record) in &fired {
            let alert = Alert::read(&path.project, &id.to_string(), record);
            let alert = alert.ok_or_else(|| foreign(&self.keys(path).fired(), record))?;
            index.push((id.clone(), alert.at_ms as f64));
            if rules.iter().any(|(name, rule)| *name == alert.rule && rule.webhook.is_some()) {
                deliveries.push((id.clone(), Delivery::Pending { attempts: 0 }.write()));
                posts.push((Atom::from(format!("{}:{id}", path.project)), now_ms as f64));
            }
        }
        if !posts.is_empty() {
            let key = self.account_keys().outbox();
            let op = Op::SortedAdd { key, when: AddWhen::IfNew, members: posts };
            self.store.commit(account, Batch::new().op(op)).await?;
        }
        let mut batch = Batch::new()
            .op(Op::HashSet { key: keys.alerts(), fields: fired.clone() })
            .op(Op::SortedAdd { key: keys.alert_index(), when: AddWhen::IfNew, members: index })
            .op(Op::Publish { channel: keys.alert_index(), message: Box::default() });
        if !deliveries.is_empty() {
            batch.push(Op::HashSet { key: keys.deliveries(), fields: deliveries });
        }
        self.store.commit(account, batch).await?;
        let ids = fired.into_iter().map(|(id, _)| id).collect();
        let done = Op::HashRemove { key: self.keys(path).fired(), fields: ids };
        self.store.commit(account, Batch::new().op(done)).await?;
        self.forget_old(account, &path.project).await
    }

    async fn forget_old(&self, account: Account, project: &PartName) -> Result<()> {
        let keys = self.project_keys(project);
        let count = self.ask_one(account, Query::SortedLen { key: keys.alert_index() }).await?.count()?;
        let limit = count.saturating_sub(ALERTS_MAX);
        if limit == 0 {
            return Ok(());
        }
        let (range, order) = (ScoreRange::ALL, Order::Ascending);
        let query = Query::SortedRange { key: keys.alert_index(), range, order, offset: 0, limit };
        let old: Vec<_> = self.ask_one(account, query).await?.scored()?.into_iter().map(|(id, _)| id).collect();
        let batch = Batch::new()
            .op(Op::SortedRemove { key: keys.alert_index(), members: old.clone() })
            .op(Op::HashRemove { key: keys.alerts(), fields: old.clone() })
            .op(Op::HashRemove { key: keys.deliveries(), fields: old });
        self.store.commit(account, batch).await?;
        Ok(())
    }

    /// Takes up an alert that is due to be posted, if any is.
    pub async fn take_posting(&self, account: Account, now_ms: u64) -> Result<Option<Posting>> {
        let key = self.account_keys().outbox();
        let Some(member) = self.lease(account, &key, now_ms, POST_LEASE_MS).await? else { return Ok(None) };
        let posting = self.posting(account, &member).await?;
        if posting.is_none() {
            // The rule, the alert or the project is gone, and with it what was to be posted.
            self.store.commit(account, Batch::new().op(Op::SortedRemove { key, members: vec![member] })).await?;
        }
        Ok(posting)
    }

    async fn posting(&self, account: Account, member: &Atom) -> Result<Option<Posting>> {
        let Some(text) = member.as_str() else { return Ok(None) };
        let Some((project, id)) = text.split_once(':') else { return Ok(None) };
        let Ok(project) = PartName::parse(project) else { return Ok(None) };
        let keys = self.project_keys(&project);
        let field = Atom::from(id);
        let queries = vec![
            Query::HashGet { key: keys.alerts(), field: field.clone() },
            Query::HashGet { key: keys.deliveries(), field },
            Query::HashAll { key: keys.rules() },
        ];
        let mut replies = self.ask(account, queries).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Reply::Value(None));
        let (alert, delivery) = (next().value()?, next().value()?);
        let rules = read_rules(&keys.rules(), next())?;
        let Some(alert) = alert.and_then(|record| Alert::read(&project, id, &record)) else { return Ok(None) };
        let Some(Delivery::Pending { attempts }) = delivery.and_then(|delivery| Delivery::read(&delivery)) else {
            return Ok(None);
        };
        let rule = rules.into_iter().find(|(name, _)| *name == alert.rule).and_then(|(_, rule)| rule.webhook);
        Ok(rule.map(|webhook| Posting { alert, url: webhook.url, secret: webhook.secret, attempts }))
    }

    /// Says how posting an alert went; `again_ms` is when to try again.
    pub async fn posted(
        &self,
        account: Account,
        alert: &Alert,
        delivery: Delivery,
        again_ms: Option<u64>,
    ) -> Result<()> {
        let keys = self.project_keys(&alert.path.project);
        let fields = vec![(Atom::from(alert.id.as_str()), delivery.write())];
        self.store.commit(account, Batch::new().op(Op::HashSet { key: keys.deliveries(), fields })).await?;
        let member = Atom::from(format!("{}:{}", alert.path.project, alert.id));
        let key = self.account_keys().outbox();
        let op = match again_ms {
            Some(again) => Op::SortedAdd { key, when: AddWhen::Always, members: vec![(member, again as f64)] },
            None => Op::SortedRemove { key, members: vec![member] },
        };
        self.store.commit(account, Batch::new().op(op)).await?;
        Ok(())
    }
}

impl Delivery {
    fn write(self) -> Atom {
        Atom::from(match self {
            Self::Pending { attempts } => format!("pending {attempts}"),
            Self::Delivered => "delivered".to_owned(),
            Self::Failed => "failed".to_owned(),
        })
    }

    fn read(atom: &Atom) -> Option<Self> {
        let text = atom.as_str()?;
        match text.as_ref() {
            "delivered" => Some(Self::Delivered),
            "failed" => Some(Self::Failed),
            pending => Some(Self::Pending { attempts: pending.strip_prefix("pending ")?.parse().ok()? }),
        }
    }
}

pub(super) fn read_rules(key: &Key, reply: Reply) -> Result<Vec<(String, Rule)>> {
    let read =
        |(name, atom): (Atom, Atom)| Ok((name.to_string(), Rule::read(&atom).ok_or_else(|| foreign(key, &atom))?));
    let mut rules = reply.fields()?.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    rules.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(rules)
}

fn one(project: &PartName, batch: Batch) -> Writing {
    Writing { parts: vec![Part { tag: project.to_string(), batch }], changes: Vec::new() }
}
