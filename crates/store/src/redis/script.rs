//! The script that writes batches, and how a server comes to know it.

use std::sync::LazyLock;

use redis::{Cmd, Script};

/// See there for how it keeps a batch whole.
const COMMIT: &str = concat!("#!lua\n", include_str!("numbers.lua"), include_str!("commit.lua"));

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(COMMIT));

/// What the script calls. A user that may not call one of them must hear of it before the first batch, because a
/// script that is stopped half-way has written half.
const COMMANDS: &[&str] = &[
    "del",
    "dump",
    "exists",
    "get",
    "getrange",
    "hdel",
    "hget",
    "hmget",
    "hset",
    "lindex",
    "llen",
    "lpop",
    "lpush",
    "persist",
    "pexpire",
    "pexpireat",
    "pexpiretime",
    "pfadd",
    "pfmerge",
    "restore",
    "rpop",
    "rpush",
    "sadd",
    "set",
    "sismember",
    "srem",
    "strlen",
    "time",
    "type",
    "unlink",
    "zadd",
    "zrem",
    "zremrangebyscore",
    "zscore",
];

/// Calls the script for keys that were already given their names on the server.
pub(super) fn call<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]>, batch: &[u8]) -> Cmd {
    let mut command = Cmd::with_capacity(4 + keys.len(), batch.len() + 64 * keys.len() + 64);
    command.arg("EVALSHA").arg(SCRIPT.get_hash()).arg(keys.len());
    for key in keys {
        command.arg(key);
    }
    command.arg(batch);
    command
}

pub(super) fn load() -> Cmd {
    let mut command = redis::cmd("SCRIPT");
    command.arg("LOAD").arg(COMMIT);
    command
}

/// Answers the commands that the user may not call.
pub(super) fn missing_permissions() -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(
        "#!lua flags=no-writes\n\
         local missing = {}\n\
         for _, name in ipairs(ARGV) do\n\
           if not redis.acl_check_cmd(name) then missing[#missing + 1] = name end\n\
         end\n\
         return missing",
    );
    command.arg(0).arg(COMMANDS);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_script_is_in_the_list() {
        let code: Vec<&str> = COMMIT.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        let code = code.join("\n");
        let quoted = code.split('\'').skip(1).step_by(2);
        let shouted = quoted.filter(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase()));
        let not_commands = ["HYLL", "KEEPTTL", "ABSTTL", "PUBLISH"];
        let mut used: Vec<_> =
            shouted.filter(|word| !not_commands.contains(word)).map(str::to_ascii_lowercase).collect();
        used.extend(["lpush", "rpush", "lpop", "rpop"].map(str::to_owned));
        used.sort();
        used.dedup();
        assert_eq!(used, COMMANDS);
    }
}
