//! The port: accepting connections, and closing the door on all of them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioExecutor;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::server::Shared;
use crate::service;
use crate::socket::{Line, WatchedSocket};
use crate::transport::Transport;

/// Connections that may queue up before they are accepted.
const BACKLOG: u32 = 1024;
/// The pause after a failed accept, which means that the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What the door can be told. The senders are answered when it is done.
#[derive(Debug)]
pub(crate) enum Command {
    Offline(Option<mpsc::SyncSender<()>>),
    Online(Option<mpsc::SyncSender<io::Result<()>>>),
    Stop,
}

enum Door {
    Open(TcpListener),
    /// Bound but not listening: connections are refused, and nobody else gets the port.
    Shut(Option<TcpSocket>),
}

/// Serves until it is told to stop or nobody can tell it anything any more.
pub(crate) async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    mut commands: UnboundedReceiver<Command>,
    shared: Arc<Shared>,
) {
    let mut door = Door::Open(listener);
    let mut connections = JoinSet::new();
    let mut accepted = 0;
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Offline(done)) => {
                    door = shut(door, address);
                    connections.shutdown().await;
                    if let Some(done) = done {
                        let _ = done.send(());
                    }
                }
                Some(Command::Online(done)) => {
                    let result;
                    (door, result) = open(door, address);
                    if let Some(done) = done {
                        let _ = done.send(result);
                    }
                }
                Some(Command::Stop) | None => return,
            },
            stream = accept(&door) => {
                accepted += 1;
                connections.spawn(connection(stream, accepted, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn accept(door: &Door) -> TcpStream {
    let Door::Open(listener) = door else {
        return std::future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Runs one connection; its errors are the client's or the script's doing, and recorded already.
async fn connection(stream: TcpStream, number: u64, shared: Arc<Shared>) {
    // Small answers must not wait for more; failing that, they are merely slower.
    let _ = stream.set_nodelay(true);
    let Some(transport) = transport(stream, &shared).await else {
        return;
    };
    let line = Arc::new(Line::new(number, transport.is_http2()));
    let socket = WatchedSocket::new(transport, Arc::clone(&line));
    let at_line = Arc::clone(&line);
    let service = service_fn(move |request| {
        Box::pin(service::serve(
            Arc::clone(&shared),
            Arc::clone(&at_line),
            request,
        ))
    });
    // No automatic date: a script may have one of its own, or none.
    if line.http2 {
        let _ = http2::Builder::new(TokioExecutor::new())
            .auto_date_header(false)
            .serve_connection(socket, service)
            .await;
        return;
    }
    let mut connection = http1::Builder::new()
        .auto_date_header(false)
        .serve_connection(socket, service);
    let result = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    let mut transport = connection.into_parts().io.into_inner();
    if let Some(takeover) = line.take_takeover() {
        takeover.carry_out(transport).await;
    } else if result.is_ok() {
        let _ = transport.shutdown().await;
    }
}

/// Shakes hands where the options say so; `None` for a client that does not.
async fn transport(stream: TcpStream, shared: &Shared) -> Option<Transport> {
    let Some(tls) = &shared.tls else {
        return Some(Transport::Plain(stream));
    };
    let ledger = &shared.ledger;
    ledger.tls(|seen| seen.connections += 1);
    match TlsAcceptor::from(Arc::clone(tls)).accept(stream).await {
        Ok(stream) => {
            ledger.tls(|seen| seen.handshakes += 1);
            Some(Transport::Tls(Box::new(stream), Arc::clone(ledger)))
        }
        Err(_) => {
            ledger.tls(|seen| seen.failed_handshakes += 1);
            None
        }
    }
}

fn shut(door: Door, address: SocketAddr) -> Door {
    match door {
        Door::Open(listener) => {
            drop(listener);
            Door::Shut(reserve(address).ok())
        }
        Door::Shut(socket) => Door::Shut(socket),
    }
}

fn open(door: Door, address: SocketAddr) -> (Door, io::Result<()>) {
    let socket = match door {
        Door::Open(listener) => return (Door::Open(listener), Ok(())),
        Door::Shut(Some(socket)) => Ok(socket),
        Door::Shut(None) => reserve(address),
    };
    match socket.and_then(|socket| socket.listen(BACKLOG)) {
        Ok(listener) => (Door::Open(listener), Ok(())),
        Err(error) => (Door::Shut(None), Err(error)),
    }
}

fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    // The connections that were just closed still occupy the port for a while.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
