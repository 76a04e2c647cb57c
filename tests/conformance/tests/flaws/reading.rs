//! Reading an answer, with the flaws of that.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;

use flate2::bufread::GzDecoder;
use submit_once::{Header, WireAnswer, WireRequest};

use super::transport::Flaw;

/// Why there is no answer.
pub enum Failure {
    Refused,
    NotConfirmed,
    NoFile,
    Ended,
    Reset,
    Malformed,
}

type Stream = BufReader<TcpStream>;

pub fn read_answer(
    flaw: Flaw,
    request: &WireRequest,
    stream: TcpStream,
) -> Result<WireAnswer, Failure> {
    let mut stream = BufReader::new(stream);
    let (status, headers) = loop {
        let (status, headers) = read_head(flaw, &mut stream)?;
        if !(100..200).contains(&status) || flaw == Flaw::TakesInterim {
            break (status, headers);
        }
    };
    let idle = match flaw {
        Flaw::IgnoresPauses => None,
        _ => Some(request.idle_timeout),
    };
    stream.get_ref().set_read_timeout(idle).unwrap();
    let value = |name: &str| {
        let mut of_name = headers.iter();
        of_name
            .find(|header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value.clone())
    };
    let length = value("content-length").map(|length| length.parse().unwrap());
    let framing = if value("transfer-encoding").is_some() {
        Framing::Chunks {
            left: 0,
            begun: false,
            last: false,
        }
    } else if let Some(length) = length {
        Framing::Length(length)
    } else {
        Framing::End
    };
    let is_head = request.method == "HEAD" && flaw != Flaw::WantsBodyOfHead;
    let gzip = value("content-encoding").is_some();
    let wants_length = flaw == Flaw::WantsLength && matches!(framing, Framing::End);
    let body = Body {
        stream,
        framing,
        flaw,
    };
    let (body, complete) = if is_head {
        (Vec::new(), true)
    } else if gzip {
        let most = match flaw {
            Flaw::IgnoresDecodedSize => usize::MAX,
            _ => request.max_answer_bytes,
        };
        let (mut body, mut complete) = read_up_to(GzDecoder::new(BufReader::new(body)), most);
        if flaw == Flaw::DecodesWrongly {
            body.pop();
        }
        complete |= flaw == Flaw::TakesBadGzipForWhole && body.len() < most;
        (body, complete)
    } else {
        let most = match flaw {
            Flaw::IgnoresSize => usize::MAX,
            Flaw::CutsOneEarly => request.max_answer_bytes - 1,
            _ => request.max_answer_bytes,
        };
        read_up_to(body, most)
    };
    Ok(WireAnswer {
        status,
        headers,
        body,
        complete: complete && !wants_length,
    })
}

fn read_head(flaw: Flaw, stream: &mut Stream) -> Result<(u16, Vec<Header>), Failure> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match stream.read_line(&mut line) {
            Ok(0) => return Err(Failure::Ended),
            Ok(_) if line == "\r\n" => break,
            Ok(_) => lines.push(line),
            Err(_) => return Err(Failure::Reset),
        }
    }
    let status = lines
        .first()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
    let status = match status {
        Some(status) => status,
        None if flaw == Flaw::TakesAnything => 200,
        None => return Err(Failure::Malformed),
    };
    let headers = lines.iter().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some(Header {
            name: match flaw {
                Flaw::KeepsCase => name.to_owned(),
                _ => name.to_ascii_lowercase(),
            },
            value: value.trim().to_owned(),
        })
    });
    Ok((status, headers.collect()))
}

/// Reads to the end, or to the most; true if it came to a proper end before.
fn read_up_to(mut body: impl Read, most: usize) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let mut piece = [0; 4_096];
    loop {
        match body.read(&mut piece) {
            Ok(0) => return (all, true),
            Ok(count) => all.extend_from_slice(&piece[..count]),
            Err(_) => return (all, false),
        }
        if all.len() > most {
            all.truncate(most);
            return (all, false);
        }
    }
}

enum Framing {
    Length(u64),
    Chunks { left: u64, begun: bool, last: bool },
    End,
}

/// A body that fails where it ends before its end.
struct Body {
    stream: Stream,
    framing: Framing,
    flaw: Flaw,
}

impl Read for Body {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let early = |forgiven| match forgiven {
            true => Ok(0),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        };
        match &mut self.framing {
            Framing::End => self.stream.read(piece),
            Framing::Length(0) => Ok(0),
            Framing::Length(left) => {
                let count = (&mut self.stream).take(*left).read(piece)?;
                *left -= count as u64;
                match count {
                    0 => early(self.flaw == Flaw::TakesShortForWhole),
                    count => Ok(count),
                }
            }
            Framing::Chunks { last: true, .. } => Ok(0),
            Framing::Chunks { left, begun, last } => {
                if *left == 0 {
                    let mut line = String::new();
                    if std::mem::replace(begun, true) {
                        self.stream.read_line(&mut line)?;
                        line.clear();
                    }
                    if self.stream.read_line(&mut line)? == 0 {
                        return early(self.flaw == Flaw::TakesOpenChunksForWhole);
                    }
                    let size = match self.flaw {
                        Flaw::ChokesOnChunks => line.trim_end(),
                        // Behind the size there may be extensions.
                        _ => line.split([';', '\r']).next().unwrap_or_default(),
                    };
                    *left = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
                    if *left == 0 {
                        *last = true;
                        return Ok(0);
                    }
                }
                let count = (&mut self.stream).take(*left).read(piece)?;
                *left -= count as u64;
                Ok(count)
            }
        }
    }
}
