"""The API against its own description: thousands of generated requests, and no answer that it does not describe."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nbfnet
from nbfnet.serve.app import make_app
from nbfnet.serve.settings import Settings

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install '.[test]'")

REQUESTS = 2000
_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def test_no_generated_request_makes_the_server_fail(things_run: nbfnet.Run) -> None:
    """No 5xx; and every response has a status and a form that the description names."""
    app = make_app(things_run, Settings(allowed_hosts=frozenset({"testserver"})))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    operations = [result.ok() for result in schema.get_all_operations()]
    statuses: Counter[int] = Counter()
    entities = list(things_run.graph.entities)
    names = {"relation": list(things_run.graph.relations), "head": entities, "tail": entities, "entity": entities}
    varied = [operation for operation in operations if list(operation.iter_parameters()) or operation.body]
    for operation in operations:

        @hypothesis.seed(0)
        @settings(max_examples=REQUESTS // len(varied) + 40, deadline=None, database=None, suppress_health_check=_QUIET)
        @given(case=operation.as_strategy(), real=st.booleans(), draw=st.randoms())
        def check(case: Any, real: bool, draw: Any) -> None:
            for part in case.query or {}:
                if real and part in names:  # half of the questions are about what is there
                    case.query[part] = draw.choice(names[part])
            response = case.call()
            statuses[response.status_code] += 1
            assert response.status_code < 500, case.as_curl_command()
            assert response.headers["content-security-policy"]
            if response.headers["content-type"] == "application/json":
                case.validate_response(
                    response, checks=[schemathesis.checks.CHECKS.get_one("response_schema_conformance")]
                )

        check()
    assert len(operations) >= 11
    assert statuses.total() >= REQUESTS, statuses
    assert min(statuses[200], statuses[404], statuses[422]) > 100, statuses
