"""Reads a link for a program: what the page mends and names, is refused here and named.

A person sees a notice; a pipeline does not. So a link with anything in it that could not be taken
as it stands gives no scenario.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from planner import comparison, question
from planner.comparison import LETTERS, Comparison
from planner.link import Notice
from planner.notation import shorten
from planner.scenario import Scenario, decode

PAGE_ONLY = ("present", "embed", "embed_options")  # how a page looks, not what it plans
MAX_QUERY = 16_000  # characters; a model's notation has at most 4,000
MAX_COMPARISON = 64_000  # characters; four plans, percent-encoded
MAX_FIELDS = 100
# What a notice says was used instead. What people wrote stands between “ and ”, so never in here.
INSTEAD = re.compile(
    r"; [^“”]* (is|are) used instead\.$|; it was read as [^“”]*\.$|; the first, .* is used\.$"
    r"|; it was cut\.$|; the scenario is reckoned rightly\.$"
    r"| Used instead: [^“”]*\.$",
    re.DOTALL,
)


class Read(NamedTuple):
    """A scenario, or a comparison where one is read, or None and every problem.

    problems: the parameter's name, which may be “”, and a sentence.
    """

    scenario: Scenario | None
    problems: tuple[tuple[str, str], ...]
    comparison: Comparison | None = None

    def lines(self) -> list[str]:
        """The problems, a line each."""
        return [f"{name}: {text}" if name else text for name, text in self.problems]


def query_of(text: str) -> str:
    """The query of an address; a text that is a query already, as it is."""
    before, mark, after = text.strip().partition("?")
    return (after if mark and "=" not in before else text.strip()).partition("#")[0]


def page_of(text: str) -> str:
    """The last part of an address's path: “compare”; “” of a query or of an address without one."""
    return urlsplit(text.strip()).path.rpartition("/")[2] if "://" in text.partition("?")[0] else ""


def read_link(text: str, **instead: str) -> Read:
    """Read a query, or an address with one; `instead` replaces values of it. Never raises."""
    return read_query(query_of(text), **instead)


def read_query(query: str, **instead: str) -> Read:
    """Read the text after a question mark; `instead` replaces values of it. Never raises."""
    values, wrong = _values(query, MAX_QUERY)
    return _read({**values, **{name: [value] for name, value in instead.items()}}, wrong)


def is_comparison(query: str) -> bool:
    """Whether a query is that of a comparison."""
    names = {part.partition("=")[0] for part in query.split("&")}
    return not names.isdisjoint(LETTERS)


def read_comparison(query: str) -> Read:
    """Read a comparison from the text after a question mark. Never raises."""
    values, wrong = _values(query, MAX_COMPARISON)
    own, _ = question.split(values, PAGE_ONLY)
    own |= {"say": values["say"]} if "say" in values else {}
    found, notices = comparison.decode(own)
    if not (found.variants or wrong):
        wrong = [Notice("", "Nothing is compared here.")]
    problems = _named([*wrong, *notices])
    return Read(None, problems, None if problems else found)


def _values(query, most):
    """A query's values by name, and what is wrong with its form; then there are no values."""
    if len(query) > most:
        text = f"A link has at most {most:,} characters; this has {len(query):,}."
        return {}, [Notice("", text)]
    try:
        values = parse_qs(query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return {}, [Notice("", f"A link has at most {MAX_FIELDS} parameters.")]
    unnamed = [part for part in query.split("&") if part and "=" not in part]
    wrong = [Notice("", f"“{shorten(part)}” is not name=value.") for part in unnamed]
    return {name: held for name, held in values.items() if name not in unnamed}, wrong


class _Pairs(list):
    """A JSON object with every name that it has, also where one is there twice."""


def read_json(text: str | bytes) -> Read:
    """Read a JSON object with a link's names and its values as texts or numbers. Never raises."""

    def constant(name):
        raise ValueError(f"{name} is not a number of JSON")

    try:
        given = json.loads(text, object_pairs_hook=_Pairs, parse_constant=constant)
    except RecursionError:
        return _refused("This is nested too deeply.")
    except ValueError as problem:
        return _refused(f"This is not JSON: {shorten(str(problem), 100)}.")
    if not isinstance(given, _Pairs):
        return _refused("This is JSON, but not an object with named fields.")
    if len(given) > MAX_FIELDS:
        return _refused(f"A plan has at most {MAX_FIELDS} parameters.")
    values, wrong = {}, []
    for name, value in given:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            wrong.append(Notice(shorten(name), "This is neither a text nor a number."))
        else:
            values.setdefault(name, []).append(str(value))
    return _read(values, wrong)


def _read(values: Mapping[str, Sequence[str]], wrong: list[Notice]) -> Read:
    own, _ = question.split(values, PAGE_ONLY)
    scenario, notices = decode(own)
    problems = _named([*wrong, *notices])
    return Read(None if problems else scenario, problems)


def _named(notices):
    return tuple((each.parameter, problem(each.text)) for each in notices)


def _refused(text):
    return Read(None, (("", text),))


def problem(text: str) -> str:
    """A notice's sentence without what the page used instead."""
    found = INSTEAD.search(text)
    return f"{text[: found.start()].rstrip('.')}." if found else text.replace(", so left aside", "")
