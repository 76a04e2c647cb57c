//! One request, from its head to its answer.
//!
//! Two parties take part. The *handler* runs in a task of its own: it reads the body, makes the
//! effect and ends, whoever is still there. The *connection*, which is told here, only waits for
//! its reply and delivers it, as well as the script lets it. When the client hangs up, hyper drops
//! the connection's half and the handler goes on.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::behaviour::HANG;
use crate::control;
use crate::flight::{Flight, Working};
use crate::handler::Handler;
use crate::intake::head;
use crate::raw::RawAnswer;
use crate::server::Shared;
use crate::socket::{AnswerBody, Cut, Line};
use crate::takeover::{Script, Takeover};

/// What the handler hands to the connection.
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) delivery: Delivery,
}

/// How the connection delivers an answer.
pub(crate) enum Delivery {
    Whole,
    Late(Duration),
    Half,
    Never,
    Hang,
    Raw(RawAnswer),
}

/// Serves one request of one connection. An error closes the connection without a further byte.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Cut> {
    let (parts, body) = request.into_parts();
    if let Some(command) = parts.uri.path().strip_prefix(control::PREFIX) {
        let answer = control::answer(&shared, command, &parts, body).await;
        return Ok(answer
            .response()
            .map(|body| AnswerBody::whole(body, line, None)));
    }

    let head = head(&parts, &shared.options, &line);
    let headless = line.http2 && head.method == "HEAD";
    let arrival = shared.ledger.arrive(&head);
    let flight = Flight::new(&shared.ledger, arrival.number);
    let (mut reply, replied) = oneshot::channel();
    let handler = Handler {
        shared: Arc::clone(&shared),
        head,
        arrival: arrival.clone(),
        http2: line.http2,
    };
    tokio::spawn(async move {
        let working = Working::new(&handler.shared.ledger, handler.arrival.number);
        let result = handler.run(body, &mut reply).await;
        // Before the reply: the client's next request must not find this one still at work.
        drop(working);
        if let Some(result) = result {
            // Nobody waits any more when the client is gone.
            let _ = reply.send(result);
        }
    });

    let Reply { answer, delivery } = replied.await.map_err(|_| Cut)?;
    let half = matches!(delivery, Delivery::Half);
    match delivery {
        Delivery::Whole | Delivery::Half => {}
        Delivery::Raw(raw) => {
            let script = Script::new(&raw, &answer.response());
            shared
                .ledger
                .update(arrival.number, |record| record.status = script.status);
            line.hand_over(Takeover {
                ledger: Arc::clone(&shared.ledger),
                arrival,
                flight,
                script,
            });
            return Err(Cut);
        }
        Delivery::Late(delay) => tokio::time::sleep(delay).await,
        Delivery::Never => return Err(Cut),
        Delivery::Hang => {
            if !shared.ledger.stand(&arrival, HANG).await {
                return Err(Cut);
            }
        }
    }
    let response = answer.response();
    let status = response.status().as_u16();
    shared
        .ledger
        .update(arrival.number, |record| record.status = Some(status));
    Ok(response.map(|body| {
        if half {
            return AnswerBody::half(body, line, flight);
        }
        let body = AnswerBody::whole(body, line, Some(flight));
        if headless { body.without_data() } else { body }
    }))
}
