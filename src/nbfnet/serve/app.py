"""The application: the JSON API and the page, over one run."""

# FastAPI reads the annotations of the functions below, which name the limits: they cannot be strings.
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from nbfnet.errors import NbfnetError
from nbfnet.prediction.asking import Wanted
from nbfnet.run import Run
from nbfnet.serve import schemas
from nbfnet.serve.asked_run import AskedRun
from nbfnet.serve.json_response import StrictJSON
from nbfnet.serve.model_card import ModelCard
from nbfnet.serve.refusals import RefusedError, document, of_error
from nbfnet.serve.request_metrics import RequestMetrics
from nbfnet.serve.schemas import LONGEST_NAME
from nbfnet.serve.security import Guard, refuse
from nbfnet.serve.sessions import Edits, Sessions
from nbfnet.serve.settings import Settings
from nbfnet.serve.worker_pool import WorkerPool

STATIC = Path(__file__).with_name("static")
# The views of the page, each with an address of its own, and the files that it is made of.
VIEWS = ("/", "/entity", "/ask", "/why", "/card", "/docs", "/licences")
FILES = {
    "/page.js": "text/javascript",
    "/page.css": "text/css",
    "/icon.svg": "image/svg+xml",
    "/licences.json": "application/json",
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Failure, "description": what}
    for status, what in {
        400: "the request cannot be read",
        401: "the token is missing or wrong",
        403: "another site's page asks",
        404: "an unknown name or session",
        408: "it takes too long",
        413: "the body is too large",
        421: "the Host header names another server",
        422: "a parameter does not fit, or the question cannot be answered",
        429: "too many requests wait",
    }.items()
}

Name = Annotated[str | None, Query(max_length=LONGEST_NAME, min_length=1)]
Needed = Annotated[str, Query(max_length=LONGEST_NAME, min_length=1)]
SessionId = Annotated[
    str | None,
    Header(alias="Nbfnet-Session", max_length=64, description="a what-if session, as /api/facts gave it"),
]

_log = logging.getLogger("nbfnet.serve")


def make_app(run: Run, settings: Settings) -> ASGIApp:
    """The application over a run, guarded and counted."""
    asked, card = AskedRun(run, settings.limits), ModelCard(run)
    limits = settings.limits
    # An explanation takes as long as many predictions and has a worker of its own, as names have. Predictions are too
    # short to gain from a second one: two would wait for Python's lock most of the time.
    pool, reasons, lookups = (
        WorkerPool(limits, max(1, limits.workers - 1)),
        WorkerPool(limits, 1),
        WorkerPool(limits, 1),
    )
    sessions, metrics = Sessions(limits), RequestMetrics()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        for each in (pool, reasons, lookups):
            each.close()

    app = FastAPI(
        title="nbfnet",
        version=version("nbfnet"),
        description="Link prediction by paths: ranked answers to queries, and the paths behind them.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        default_response_class=StrictJSON,
        responses=_REFUSALS,
    )
    _handle_errors(app)

    async def edits_of(session: SessionId = None) -> Edits:
        return sessions.edits(session)

    InSession = Annotated[Edits, Depends(edits_of)]  # noqa: N806 - a type

    @app.get("/api/health", response_model=schemas.Health, tags=["server"])
    async def health() -> StrictJSON:
        """That the server lives, and what it serves. Needs no token and waits for no computation."""
        graph = asked.graph
        return StrictJSON(
            {
                "status": "ok",
                "version": app.version,
                "graph": run.dataset.name,
                "kind": graph.kind,
                "entities": graph.num_nodes,
                "relations": graph.num_relations,
                "facts": len(graph.triplets),
                "token": settings.token is not None,
            }
        )

    @app.get("/api/metrics", response_class=PlainTextResponse, tags=["server"])
    async def show_metrics() -> PlainTextResponse:
        """Counters in the text format of Prometheus."""
        gauges = {"computations_in_flight": pool.in_flight + reasons.in_flight, "sessions": len(sessions)}
        return PlainTextResponse(metrics.text(gauges), media_type="text/plain; version=0.0.4")

    @app.get("/api/entities", response_model=schemas.Entities, tags=["graph"])
    async def entities(
        q: Annotated[str, Query(max_length=LONGEST_NAME, description="what was typed")] = "",
        limit: Annotated[int, Query(ge=1, le=50)] = 10,
    ) -> StrictJSON:
        """Entities by the beginning of their name, by a word of it, or by a similar spelling."""
        return StrictJSON({"entities": await lookups.run(lambda: asked.find(q, limit))})

    @app.get("/api/relations", response_model=schemas.Relations, tags=["graph"])
    async def relations(edits: InSession, entity: Name = None) -> StrictJSON:
        """All relations; for an entity, each way of asking, those that make sense for it first."""
        return StrictJSON({"relations": await pool.run(lambda: asked.relations(entity, edits))})

    @app.get("/api/neighbours", response_model=schemas.Neighbours, tags=["graph"])
    async def neighbours(
        edits: InSession, entity: Needed, limit: Annotated[int, Query(ge=1, le=500)] = 100
    ) -> StrictJSON:
        """An entity and its known facts."""
        return StrictJSON(await pool.run(lambda: asked.entity(entity, limit, edits)))

    @app.get("/api/predict", response_model=schemas.Prediction, tags=["questions"])
    async def predict(
        edits: InSession,
        head: Name = None,
        relation: Name = None,
        tail: Name = None,
        k: Annotated[int, Query(ge=1, le=limits.k)] = 10,
        exclude_known: bool = False,
        any_type: bool = False,
        type: Annotated[list[str], Query(max_length=20)] = [],  # noqa: A002, B006 - the name of the parameter
    ) -> StrictJSON:
        """The best answers to (head, relation, ?), (?, relation, tail) or (head, ?, tail): leave out what is asked."""
        wanted = Wanted(k, exclude_known, any_type, types=tuple(type))
        return StrictJSON(await pool.run(lambda: asked.predict(head, relation, tail, wanted, edits)))

    @app.get("/api/explain", response_model=schemas.ExplanationDocument, tags=["questions"])
    async def explain(
        edits: InSession,
        head: Needed,
        tail: Needed,
        relation: Name = None,
        asked_end: Annotated[Literal["head", "tail"], Query(alias="asked")] = "tail",
        k: Annotated[int, Query(ge=1, le=limits.paths, description="how many paths")] = 5,
    ) -> StrictJSON:
        """The paths behind a prediction; a fact that is known already is hidden first."""
        return StrictJSON(await reasons.run(lambda: asked.explain(head, relation, tail, k, asked_end, edits)))

    @app.get("/api/facts", response_model=schemas.SessionFacts, tags=["what if"])
    async def facts(edits: InSession, session: SessionId = None) -> StrictJSON:
        """The facts that a session added and removed."""
        return StrictJSON({"session": session, **await pool.run(lambda: asked.facts(edits))})

    @app.post("/api/facts", response_model=schemas.SessionFacts, tags=["what if"])
    async def change_facts(given: schemas.FactsGiven, session: SessionId = None) -> StrictJSON:
        """Add and remove facts in one session only; without a session, a new one begins. Entities may be new."""

        def change() -> dict[str, Any]:
            added = [asked.canonical(f.head, f.relation, f.tail) for f in given.add]
            removed = [asked.canonical(f.head, f.relation, f.tail) for f in given.remove]

            def apply(edits: Edits) -> Edits:
                for fact, known in added:
                    edits = edits.add(fact, is_known=known)
                for fact, known in removed:
                    edits = edits.remove(fact, is_known=known)
                return edits

            name, edits = sessions.change(session, apply)
            return {"session": name, **asked.facts(edits)}

        return StrictJSON(await pool.run(change))

    @app.delete("/api/facts", response_model=schemas.SessionFacts, tags=["what if"])
    async def forget_facts(session: SessionId = None) -> StrictJSON:
        """End a session: its facts are forgotten."""
        if session is not None:
            sessions.end(session)
        return StrictJSON({"session": None, "added": [], "removed": []})

    @app.get("/api/card", tags=["server"])
    async def model_card() -> StrictJSON:
        """The model card: data, metrics, calibration, learning curves, quality of each relation."""
        return StrictJSON(await lookups.run(card.document))

    _serve_page(app)
    return metrics.wrap(Guard(app, settings))


def _serve_page(app: FastAPI) -> None:
    """The files of the page: a fixed list, so that no path leads to another file."""

    def serve(address: str, file: Path, media_type: str) -> None:
        async def send(request: Request) -> FileResponse:
            return FileResponse(file, media_type=media_type, headers={"cache-control": "no-cache"})

        app.add_api_route(address, send, methods=["GET", "HEAD"], include_in_schema=False)

    for view in VIEWS:
        serve(view, STATIC / "index.html", "text/html")
    for name, media_type in FILES.items():
        serve(name, STATIC / name.removeprefix("/"), media_type)


def _handle_errors(app: FastAPI) -> None:
    """Every error is the same JSON, and none tells a client what only the server's log should know."""

    @app.exception_handler(RefusedError)
    async def refused(_: Request, refusal: RefusedError) -> StrictJSON:
        return refuse(refusal)

    @app.exception_handler(NbfnetError)
    async def mistaken(_: Request, error: NbfnetError) -> StrictJSON:
        status, content = of_error(error)
        return StrictJSON(content, status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> StrictJSON:
        details = [{"where": [str(part) for part in e["loc"]], "what": e["msg"]} for e in error.errors()]
        what = "; ".join(f"{detail['where'][-1]}: {detail['what']}" for detail in details[:3])
        status = 400 if any(e["type"] == "json_invalid" for e in error.errors()) else 422
        return StrictJSON(document("invalid", what, details=details), status)

    @app.exception_handler(HTTPException)
    async def unserved(_: Request, error: HTTPException) -> StrictJSON:
        what = {404: "there is nothing at this address", 405: "this address takes another method"}
        headers = dict(error.headers or {})
        return StrictJSON(document("http", what.get(error.status_code, str(error.detail))), error.status_code, headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> StrictJSON:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return StrictJSON(document("failed", "the server failed at this: its log says why"), 500)
