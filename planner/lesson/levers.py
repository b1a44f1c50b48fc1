"""What it costs: the levers on cache size for the lesson's model, as bytes that draw to scale.

The lesson's model has 32 layers and 32 query heads of width 128. A lever changes how many key-value
heads it keeps, how wide an element is or how many tokens it holds; levers combine.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from planner import formulas

BASE = "lesson-7b-mha"
LATENT_WIDTH = 512 + 64  # DeepSeek-V2: a latent of 512 and a rotated key of 64 serve all heads


@dataclass(frozen=True)
class Lever:
    """One way to store the cache of the lesson's model.

    heads: key-value heads, None for one latent of LATENT_WIDTH in their place. bytes_per_element:
    without the scales that a quantised format adds. window: tokens kept, None for all. layers,
    head_dim: of the model. `note` says what it costs; `source` where it is from.
    """

    id: str
    name: str
    heads: int | None = 32
    bytes_per_element: float = 2
    window: int | None = None
    layers: int = 32
    head_dim: int = 128
    note: str = ""
    source: str = ""

    @property
    def stored(self):
        """What a layer stores for a token: how many key-value heads, key and value dimension."""
        if self.heads is None:
            return 1, LATENT_WIDTH, 0
        return self.heads, self.head_dim, self.head_dim

    def bytes_per_token(self):
        """Bytes one token adds to one request, all layers."""
        width = self.bytes_per_element
        return formulas.kv_bytes_per_token(self.layers, *self.stored, width, width)

    def kept(self, context_tokens):
        """Tokens of a context that are stored."""
        span = np.inf if self.window is None else self.window
        return formulas.cached_tokens(context_tokens, span)

    def request_bytes(self, context_tokens):
        """Cache of one request of that many tokens, a number or an array."""
        return formulas.request_cache_bytes(0, self.bytes_per_token(), self.kept(context_tokens))


LEVERS = (
    Lever(
        "mha",
        "MHA: 32 heads",
        note="Every query head has a key and a value head of its own.",
        source="vaswani-2017",
    ),
    Lever(
        "gqa",
        "GQA: 8 heads",
        heads=8,
        note="Four query heads share one. Models are trained for it; the loss in quality is small.",
        source="ainslie-2023",
    ),
    Lever(
        "mqa",
        "MQA: 1 head",
        heads=1,
        note="All query heads share one. Smallest of the three, and quality may suffer.",
        source="shazeer-2019",
    ),
    Lever(
        "mla",
        "MLA: one latent",
        heads=None,
        note="Heads are rebuilt from one vector of 512 + 64 numbers a token, as in DeepSeek-V2.",
        source="deepseek-2024",
    ),
    Lever(
        "8-bit",
        "8-bit cache",
        bytes_per_element=1,
        note="Half the bytes. Quality hardly changes in most models; test yours.",
        source="hooper-2024",
    ),
    Lever(
        "4-bit",
        "4-bit cache",
        bytes_per_element=0.5,
        note="A quarter, plus scales: real formats take about 4.5 bits. Keys suffer first.",
        source="hooper-2024",
    ),
    Lever(
        "window",
        "Window of 4,096",
        window=4096,
        note="Older tokens are dropped, so growth stops there. What fell out cannot be looked up.",
        source="jiang-2023",
    ),
)


def compare(context_tokens, concurrency=1, levers=LEVERS) -> pd.DataFrame:
    """Each lever alone, against the first in `levers`.

    Columns: `id`, `lever`, `bytes_per_token` (while it grows), `request_bytes`, `load_bytes`,
    `share` (of the first lever's request, 0 to 1), `note`, `source`.
    """
    first = levers[0].request_bytes(context_tokens)
    rows = []
    for lever in levers:
        request = float(lever.request_bytes(context_tokens))
        rows.append(
            {
                "id": lever.id,
                "lever": lever.name,
                "bytes_per_token": lever.bytes_per_token(),
                "request_bytes": request,
                "load_bytes": formulas.load_cache_bytes(request, concurrency),
                "share": request / first,
                "note": lever.note,
                "source": lever.source,
            }
        )
    return pd.DataFrame(rows)


def chosen(values) -> Lever:
    """The cost page's levers as they are set, all at once."""
    return replace(
        LEVERS[0],
        heads=None if values["heads"] == "mla" else int(values["heads"]),
        bytes_per_element=int(values["bits"]) / 8,
        window=None if values["window"] == "none" else int(values["window"]),
        layers=values["layers"],
        head_dim=values["dim"],
        note="",
        source="",
    )


def alone(layers, head_dim) -> tuple[Lever, ...]:
    """Each of LEVERS for a model of so many layers and that head dimension."""
    return tuple(replace(lever, layers=layers, head_dim=head_dim) for lever in LEVERS)


def stack(context_tokens, concurrency, end: Lever) -> pd.DataFrame:
    """The levers of `end` pulled one after another, from MHA at 16 bits: a frame as of `compare`.

    A row for the start and one for each choice that differs from it.
    """
    (start, *_) = alone(end.layers, end.head_dim)
    lever = replace(start, name="Start: MHA, 16 bits")
    pulled = [lever]
    heads, bytes_per_element, window = end.heads, end.bytes_per_element, end.window
    sharing = "one latent" if heads is None else f"{heads} key-value heads"
    for name, change in (
        (sharing, {"heads": heads}),
        (f"{bytes_per_element * 8:g} bits", {"bytes_per_element": bytes_per_element}),
        (f"window of {window:,}" if window else "", {"window": window}),
    ):
        changed = replace(lever, **change)
        if changed != lever:
            lever = replace(changed, id=name, name=name, note="", source="")
            pulled.append(lever)
    return compare(context_tokens, concurrency, pulled)
