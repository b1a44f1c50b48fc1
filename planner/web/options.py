"""What whoever runs the app decides: environment variables, read when the server starts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

ON = {"": False, "0": False, "1": True}


@dataclass(frozen=True)
class Options:
    """PLANNER_ADDRESS: where people open the app, ending in “/”; then links and pictures name it,
    and no header of a request is believed. PLANNER_EMBED: the sites whose pages may show the app in
    a frame, separated by spaces, or “*”. PLANNER_METRICS=1: numbers of the server for a monitor, at
    /_stcore/metrics. PLANNER_HUB_TOKEN=1: a visitor's look-up of a model uses this machine's
    HF_TOKEN, and so sees what its owner may see.
    """

    address: str = ""
    embed: tuple[str, ...] = ()
    metrics: bool = False
    hub_token: bool = False


NONE = Options()


def read(given: Mapping[str, str]) -> Options:
    """The options among environment variables. ValueError: what is wrong, in one sentence."""
    address = given.get("PLANNER_ADDRESS", "").strip()
    embed = tuple(given.get("PLANNER_EMBED", "").split())
    if address and not _is_address(address):
        raise ValueError(f"PLANNER_ADDRESS: “{address}” is no address like https://plan.example/.")
    for site in embed:
        if site != "*" and not (_is_address(site) and urlsplit(site).path in ("", "/")):
            raise ValueError(f"PLANNER_EMBED: “{site}” is no site like https://school.example.")
    switches = {}
    for name in ("metrics", "hub_token"):
        text = given.get(variable := f"PLANNER_{name.upper()}", "").strip()
        if text not in ON:
            raise ValueError(f"{variable}: “{text}” is neither 1 nor 0.")
        switches[name] = ON[text]
    return Options(address and f"{address.rstrip('/')}/", embed, **switches)


def _is_address(text):
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  (raises where it is no number)
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or parts.username or set(text) & set("\"';,<> \\"))
    return parts.scheme in ("http", "https") and bool(parts.hostname) and plain


@cache
def options() -> Options:
    """Those of this process."""
    return read(os.environ)
