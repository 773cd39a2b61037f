//! Just enough of Redis's protocol to ask a server how it is, without the client library under test.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// An answer of a server; an error of the server is an `io::Error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Nothing,
    Int(i64),
    Text(String),
    Many(Vec<Answer>),
}

impl Answer {
    /// The text, or nothing where it is something else.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

/// Sends commands over a connection of their own and returns the answer to the last of them.
pub(crate) fn ask(port: u16, commands: &[&[&str]]) -> io::Result<Answer> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut answer = Answer::Nothing;
    for command in commands {
        let mut request = Vec::new();
        write!(request, "*{}\r\n", command.len())?;
        for word in *command {
            write!(request, "${}\r\n{word}\r\n", word.len())?;
        }
        reader.get_mut().write_all(&request)?;
        answer = read(&mut reader)?;
    }
    Ok(answer)
}

fn read(reader: &mut impl BufRead) -> io::Result<Answer> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end();
    let rest = line.get(1..).ok_or(io::ErrorKind::UnexpectedEof)?;
    match line.as_bytes()[0] {
        b'+' => Ok(Answer::Text(rest.to_owned())),
        b'-' => Err(io::Error::other(rest.to_owned())),
        b':' => Ok(Answer::Int(number(rest)?)),
        b'$' => match usize::try_from(number(rest)?) {
            Err(_) => Ok(Answer::Nothing),
            Ok(len) => {
                let mut text = vec![0; len + 2];
                reader.read_exact(&mut text)?;
                text.truncate(len);
                Ok(Answer::Text(String::from_utf8_lossy(&text).into_owned()))
            }
        },
        b'*' => (0..number(rest)?).map(|_| read(reader)).collect::<io::Result<_>>().map(Answer::Many),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("not an answer of Redis: {line:?}"))),
    }
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("not a number: {text:?}")))
}
