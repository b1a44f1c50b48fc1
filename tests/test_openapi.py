"""The HTTP interface against its own description, with inputs that a machine makes up."""

import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.applications import Starlette

from planner import api

described = schemathesis.openapi.from_asgi("/api/schema", Starlette(routes=api.routes()))
# Limits between parameters (heads that must divide) are answered with 400 for values that are
# each allowed, which the description says in words and no schema can.
BEYOND_SCHEMA = [positive_data_acceptance]


@described.parametrize()
@settings(max_examples=30, deadline=None)
def test_the_description_holds(case):
    case.call_and_validate(excluded_checks=BEYOND_SCHEMA)
