"""The HTTP interface against its own description, with inputs that a machine makes up."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.applications import Starlette

from planner.web import api

described = schemathesis.openapi.from_asgi("/api/schema", Starlette(routes=api.routes()))
# Limits between parameters (heads that must divide) are answered with 400 for values that are
# each allowed, which the description says in words and no schema can.
BEYOND_SCHEMA = [positive_data_acceptance]


@pytest.mark.slow
@described.exclude(path_regex="{chart}").parametrize()
@settings(max_examples=30, deadline=None)
def test_the_description_holds(case):
    case.call_and_validate(excluded_checks=BEYOND_SCHEMA)


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures by name only: what is in them is tested elsewhere, and each takes its time."""
    monkeypatch.setattr(api.images, "svg", lambda spec, comment: "<svg/>")
    monkeypatch.setattr(api.images, "png", lambda spec, comment: b"PNG")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
@described.include(path_regex="{chart}").parametrize()
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_description_holds_for_pictures(case):
    case.call_and_validate(excluded_checks=BEYOND_SCHEMA)
