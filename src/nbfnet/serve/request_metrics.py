"""RequestMetrics: how many requests came, how they ended and how long they took, as Prometheus reads it."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


class RequestMetrics:
    """Counts the requests of an application around it; only the event loop changes it."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()  # (route, status)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()
        self._begun = time.monotonic()

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """The application, counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begun, status = time.perf_counter(), 500

            async def watched(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, watched)
            finally:
                # The route, never the path: what a client makes up must not become a name of a series.
                route = getattr(scope.get("route"), "path", "other")
                self._count(route, status, time.perf_counter() - begun)

        return counted

    def text(self, gauges: Mapping[str, float]) -> str:
        """All series in Prometheus' text format, with some gauges of the moment."""
        lines = ["# TYPE nbfnet_requests_total counter"]
        for (route, status), count in sorted(self._requests.items()):
            lines.append(f'nbfnet_requests_total{{route="{route}",status="{status}"}} {count}')
        lines.append("# TYPE nbfnet_request_seconds histogram")
        for route, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip([*(f"{b:g}" for b in BOUNDS), "+Inf"], counts, strict=True):
                total += count
                lines.append(f'nbfnet_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
            lines.append(f'nbfnet_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'nbfnet_request_seconds_count{{route="{route}"}} {total}')
        for name, value in {"uptime_seconds": time.monotonic() - self._begun, **gauges}.items():
            lines += [f"# TYPE nbfnet_{name} gauge", f"nbfnet_{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _count(self, route: str, status: int, seconds: float) -> None:
        self._requests[route, status] += 1
        self._buckets[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]
