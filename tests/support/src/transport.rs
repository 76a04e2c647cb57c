//! What a connection's bytes go through: TCP, or TLS over it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::ledger::Ledger;

/// One connection's stream.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>, Arc<Ledger>),
}

impl Transport {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream, _) => stream.get_ref().0,
        }
    }

    /// Whether the handshake agreed on HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream, _) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Ends the connection with a RST.
    pub(crate) fn reset(self) {
        // Refused only for a socket that has an end already.
        let _ = self.tcp().set_zero_linger();
    }

    /// Waits until the client has closed its side, and leaves what it sent before unread.
    pub(crate) async fn hung_up(&self) {
        let stream = self.tcp();
        loop {
            match stream.ready(Interest::READABLE).await {
                Ok(ready) if !ready.is_read_closed() => {}
                Ok(_) | Err(_) => return,
            }
            // Data, not the end. To claim that there is none makes the next look wait for news.
            let _ = stream.try_io(Interest::READABLE, || {
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream, ledger) => {
                let before = buffer.filled().len();
                let result = ready!(Pin::new(stream).poll_read(context, buffer));
                let bytes = buffer.filled().len() - before;
                if bytes > 0 {
                    ledger.tls(|seen| seen.application_bytes += bytes as u64);
                }
                Poll::Ready(result)
            }
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, buffer),
            Self::Tls(stream, _) => Pin::new(stream).poll_write(context, buffer),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream, _) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream, _) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream, _) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, buffers),
            Self::Tls(stream, _) => Pin::new(stream).poll_write_vectored(context, buffers),
        }
    }
}
