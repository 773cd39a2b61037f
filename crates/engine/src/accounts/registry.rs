//! All tokens: a set of their ids, and a hash for each, in one slot of a Cluster.

use std::sync::Arc;

use tickmark_store::{Account, Atom, Batch, Guard, Key, Op, Presence, Query, Store};

use super::{Secret, Token, TokenId};
use crate::{Error, Result};

/// Tokens of all accounts together.
pub const TOKENS_MAX: u64 = 10_000;

const IDS: &str = "tm:{tokens}";

/// The tokens in a store.
#[derive(Clone, Debug)]
pub struct Registry {
    store: Arc<dyn Store>,
}

impl Registry {
    /// Where all tokens are, whichever account they open.
    pub const HOME: Account = Account(0);
    /// The part of the keys that must live together.
    pub const TAG: &str = "tokens";

    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    pub async fn is_empty(&self) -> Result<bool> {
        Ok(self.count().await? == 0)
    }

    /// What keeps the token a secret stands for, to be committed to [`Registry::HOME`].
    pub async fn creation(&self, secret: &Secret, token: &Token) -> Result<Batch> {
        token.check()?;
        if self.count().await? >= TOKENS_MAX {
            return Err(Error::TooManyTokens { max: TOKENS_MAX });
        }
        let key = record(&token.id);
        Ok(Batch::new()
            .guard(Guard::Key { key: key.clone(), is: Presence::Absent })
            .op(Op::SetAdd { key: Key::from(IDS), members: vec![Atom::from(token.id.as_str())] })
            .op(Op::HashSet { key, fields: token.to_fields(&secret.digest()) }))
    }

    pub async fn create(&self, secret: &Secret, token: &Token) -> Result<()> {
        let batch = self.creation(secret, token).await?;
        self.store.commit(Self::HOME, batch).await?;
        Ok(())
    }

    /// The token of a secret, expired or not; `None` where there is none or it was revoked.
    pub async fn find(&self, secret: &Secret) -> Result<Option<Token>> {
        let digest = secret.digest();
        let id = TokenId::of(&digest);
        let fields = self.fields(&id).await?;
        let wanted = Atom::from("digest");
        let kept = fields.iter().find(|(name, _)| *name == wanted);
        match kept {
            Some((_, kept)) if digest.is_spelled(&kept.as_bytes()) => Token::from_fields(&id, &fields).map(Some),
            _ => Ok(None),
        }
    }

    /// The account's tokens, oldest first.
    pub async fn list(&self, account: Account) -> Result<Vec<Token>> {
        let all = self.all().await?;
        Ok(all.into_iter().filter(|token| token.account == account).collect())
    }

    /// The tokens of all accounts, oldest first.
    pub async fn all(&self) -> Result<Vec<Token>> {
        let ids = self.ask(Query::SetAll { key: Key::from(IDS) }).await?.members()?;
        let ids: Vec<TokenId> = ids.iter().filter_map(|id| TokenId::parse(&id.as_str()?)).collect();
        let queries = ids.iter().map(|id| Query::HashAll { key: record(id) }).collect();
        let mut tokens = Vec::with_capacity(ids.len());
        for (id, reply) in ids.iter().zip(self.store.read(Self::HOME, queries).await?) {
            let fields = reply.fields()?;
            // Revoked between the two reads.
            if !fields.is_empty() {
                tokens.push(Token::from_fields(id, &fields)?);
            }
        }
        tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(tokens)
    }

    /// A token of the account, by its id.
    pub async fn get(&self, account: Account, id: &TokenId) -> Result<Token> {
        let unknown = || Error::UnknownToken { id: id.to_string() };
        let fields = self.fields(id).await?;
        if fields.is_empty() {
            return Err(unknown());
        }
        let token = Token::from_fields(id, &fields)?;
        if token.account == account { Ok(token) } else { Err(unknown()) }
    }

    /// What makes the token open nothing from here on, to be committed to [`Registry::HOME`]. A token of another account is
    /// as unknown as one that never was.
    pub async fn revocation(&self, account: Account, id: &TokenId) -> Result<Batch> {
        self.get(account, id).await?;
        Ok(Batch::new()
            .op(Op::SetRemove { key: Key::from(IDS), members: vec![Atom::from(id.as_str())] })
            .op(Op::Delete { key: record(id) }))
    }

    pub async fn revoke(&self, account: Account, id: &TokenId) -> Result<()> {
        let batch = self.revocation(account, id).await?;
        self.store.commit(Self::HOME, batch).await?;
        Ok(())
    }

    async fn count(&self) -> Result<u64> {
        Ok(self.ask(Query::SetLen { key: Key::from(IDS) }).await?.count()?)
    }

    async fn fields(&self, id: &TokenId) -> Result<Vec<(Atom, Atom)>> {
        Ok(self.ask(Query::HashAll { key: record(id) }).await?.fields()?)
    }

    async fn ask(&self, query: Query) -> Result<tickmark_store::Reply> {
        let mut replies = self.store.read(Self::HOME, vec![query]).await?;
        replies.pop().ok_or_else(|| Error::Record { key: IDS.into(), why: "a query has no reply".into() })
    }
}

fn record(id: &TokenId) -> Key {
    Key::from(format!("{IDS}:{id}"))
}
