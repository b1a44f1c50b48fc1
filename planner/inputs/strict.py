"""Reads a link for a program: what a page would correct and name, is rejected here and named.

A person sees a notice; a pipeline does not. So a link with anything in it that could not be taken
as it stands gives nothing but its problems.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from planner.inputs import question, scenario
from planner.inputs.link import Notice
from planner.models.notation import shorten

# How a page looks and what it keeps beside its plan, not what it plans.
PAGE_ONLY = ("present", "board", "pins", "embed", "embed_options")
MAX_QUERY = 16_000  # characters; a model's notation has at most 4,000
MAX_FIELDS = 100


class Read(NamedTuple):
    """What a link holds (a scenario, a comparison), or None and every problem.

    problems: the parameter's name, which may be “”, and a sentence.
    """

    found: Any
    problems: tuple[tuple[str, str], ...]

    def lines(self) -> list[str]:
        """The problems, a line each."""
        return [f"{name}: {text}" if name else text for name, text in self.problems]


def query_of(text: str) -> str:
    """The query of an address; a text that is a query already, as it is."""
    before, mark, after = text.strip().partition("?")
    return (after if mark and "=" not in before else text.strip()).partition("#")[0]


def page_of(text: str) -> str:
    """The last part of an address's path: “compare”; “” of a query or of an address without one."""
    before = text.strip().partition("?")[0]
    path = before.partition("://")[2].partition("#")[0].partition("/")[2]
    return path.rpartition("/")[2]


def read_link(text: str, **instead: str) -> Read:
    """Read the scenario of a query, or of an address with one; `instead` replaces values of it."""
    return read_query(query_of(text), **instead)


def read_query(
    query: str,
    decode: Callable = scenario.decode,
    most: int = MAX_QUERY,
    own: Sequence[str] = (),
    **instead: str,
) -> Read:
    """Read the text after a question mark. Never raises.

    decode: takes values by name, gives what they hold and notices. most: characters of the query.
    own: parameters of the page that are a question's on other pages. instead: replaces values.
    """
    if len(query) > most:
        return _rejected(f"A link has at most {most:,} characters; this has {len(query):,}")
    try:
        values = parse_qs(query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return _rejected(f"A link has at most {MAX_FIELDS} parameters")
    unnamed = [part for part in query.split("&") if part and "=" not in part]
    wrong = [Notice("", f"“{shorten(part)}” is not name=value") for part in unnamed]
    values = {name: held for name, held in values.items() if name not in unnamed}
    return _read({**values, **{name: [text] for name, text in instead.items()}}, wrong, decode, own)


class _Pairs(list):
    """A JSON object with every name that it has, also where one is there twice."""


def read_json(text: str | bytes) -> Read:
    """Read a JSON object with a link's names and its values as texts or numbers. Never raises."""

    def constant(name):
        raise ValueError(f"{name} is not a number of JSON")

    try:
        given = json.loads(text, object_pairs_hook=_Pairs, parse_constant=constant)
    except RecursionError:
        return _rejected("This is nested too deeply")
    except ValueError as problem:
        return _rejected(f"This is not JSON: {shorten(str(problem), 100)}")
    if not isinstance(given, _Pairs):
        return _rejected("This is JSON, but not an object with named fields")
    if len(given) > MAX_FIELDS:
        return _rejected(f"A plan has at most {MAX_FIELDS} parameters")
    values, wrong = {}, []
    for name, value in given:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            wrong.append(Notice(shorten(name), "This is neither a text nor a number"))
        else:
            values.setdefault(name, []).append(str(value))
    return _read(values, wrong, scenario.decode)


def _read(values: Mapping[str, Sequence[str]], wrong: list[Notice], decode, own=()) -> Read:
    kept, shared = question.split(values, PAGE_ONLY)
    if any(shared.get("ask", ())):
        wrong = [*wrong, Notice("ask", "A question keeps its answer; without this it is given")]
    found, notices = decode(kept | {name: values[name] for name in own if name in values})
    problems = tuple((each.parameter, f"{each.problem}.") for each in [*wrong, *notices])
    return Read(None if problems else found, problems)


def _rejected(problem):
    return Read(None, (("", f"{problem}."),))
