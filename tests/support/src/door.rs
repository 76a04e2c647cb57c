//! The port: accepting connections, and closing the door on all of them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::handler;
use crate::server::Shared;
use crate::socket::{Line, WatchedSocket};

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
                connections.spawn(connection(stream, Arc::clone(&shared)));
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
async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Small answers must not wait for more; failing that, they are merely slower.
    let _ = stream.set_nodelay(true);
    let line = Arc::new(Line::default());
    let socket = WatchedSocket::new(stream, Arc::clone(&line));
    let service =
        service_fn(move |request| handler::serve(Arc::clone(&shared), Arc::clone(&line), request));
    let _ = http1::Builder::new()
        .serve_connection(socket, service)
        .await;
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
