"""Which engines run on which devices, by their own documents: presets/engine_vendors.csv."""

from dataclasses import dataclass
from functools import cache

from planner.files import rows
from planner.inputs import presets

SUGGESTED = (  # the current version of each engine that is most in use, servers first
    "vllm-0.34",
    "sglang",
    "tensorrt-llm",
    "llama.cpp-cuda",
    "llama.cpp-metal",
    "mlx",
    "llama.cpp-vulkan",
)
MOST_SUGGESTED = 4
ANY = "any"  # in place of a vendor: the engine is no program, and runs nowhere or everywhere


@dataclass(frozen=True)
class Support:
    """One row of presets/engine_vendors.csv: an engine on devices of one vendor.

    least_capability: NVIDIA's compute capability that it needs at least, None where no source says.
    targets: the targets it lists, none where it lists none. support: documented, plug-in or
    experimental. note: what a person should know besides.
    """

    engine: str
    vendor: str
    least_capability: float | None
    targets: tuple[str, ...]
    support: str
    note: str
    source: str


@cache
def supports() -> dict[str, tuple[Support, ...]]:
    """The rows of every engine, in the order of the file."""
    found = {}
    for row in rows("engine_vendors.csv"):
        least, targets = row.pop("least_capability"), row.pop("targets")
        own = Support(
            least_capability=float(least) if least else None,
            targets=tuple(targets.split()),
            **row,
        )
        found.setdefault(own.engine, []).append(own)
    return {engine: tuple(own) for engine, own in found.items()}


def refusal(engine: str, device: str) -> str:
    """Why an engine is not for a device, a sentence; “” where it is, or where nothing is known.

    A device that is nobody's, as the lesson's, takes any engine. ValueError for an unknown id.
    """
    name, own = presets.engine(engine).name, presets.accelerator(device)
    known = supports()[engine]
    if not own.maker or any(row.vendor == ANY for row in known):
        return ""
    row = next((row for row in known if row.vendor == own.maker), None)
    if row is None:
        makers = ", ".join(row.vendor for row in known)
        return f"{name} does not run on {own.name}: its documents name {makers} only."
    least = row.least_capability
    if least is not None and own.target and float(own.target) < least:
        return f"{name} needs compute capability {least} or higher; {own.name} has {own.target}."
    if row.targets and own.target not in row.targets:
        target = f" ({own.target})" if own.target else ""
        return f"{name} does not list {own.name}{target} among the devices it supports."
    return ""


def offered(device: str) -> list[str]:
    """The engines that are for a device, by id, older ones at the end."""
    able = [id for id in presets.engines() if not refusal(id, device)]
    return sorted(able, key=lambda id: presets.engine(id).group == "older")


def suggested(device: str, gguf: bool = False) -> list[str]:
    """The engines to try first on a device, by id, MOST_SUGGESTED at most.

    gguf: the weights are in a format of llama.cpp, whose engines then come first.
    """
    able = [id for id in SUGGESTED if not refusal(id, device)]
    if gguf:
        able.sort(key=lambda id: not id.startswith("llama.cpp"))
    return able[:MOST_SUGGESTED]


def remark(engine: str, device: str) -> str:
    """How an engine comes to a device, where that is not plain: “plug-in: vllm-ascend”."""
    maker = presets.accelerator(device).maker
    for row in supports()[engine]:
        if row.vendor == maker and row.support != "documented":
            return f"{row.support}: {row.note}" if row.note else row.support
    return ""
