"""Reads the kernel times of the package aiconfigurator: what a kernel asks, and what it takes.

    pip install aiconfigurator==0.12.0        (Apache-2.0; an environment of its own: 120 MB)

Only its tables of kernels are read (systems/data/<device>/<operation>/<engine>/<version>/
*_perf.parquet), never its list of whole runs. Of each operation the newest version that has it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from importlib.metadata import version

import numpy as np
import pandas as pd

from planner.inputs import presets

DEVICES = {  # of the package: of presets/accelerators.csv
    "a100_sxm": "a100-80-sxm",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200-sxm",
    "b200_sxm": "b200-sxm",
    "b300_sxm": "b300-sxm",
    "gb200": "gb200",
    "gb300": "gb300",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000-server",
    "b60": "arc-pro-b60",
}
ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm", "nccl": "nccl"}
FORMATS = {  # of the tables: ours, bytes a weight with its scales, and whose peak multiplies it
    "bfloat16": ("16", 2, "fp16"),
    "fp8": ("8", 1, "fp8"),
    "fp8_block": ("8-block", 1, "fp8"),
    "nvfp4": ("nvfp4", 0.5625, "fp4"),
    "int4_wo": ("4-weights", 0.52, "fp16"),
    "int8_wo": ("8-weights", 1, "fp16"),
    "w4a16_mxfp4": ("mxfp4-16", 0.53125, "fp16"),
    "w4a8_mxfp4_mxfp8": ("mxfp4-8", 0.53125, "fp8"),
    "w4a8_mxfp4_fp8": ("mxfp4-8", 0.53125, "fp8"),
}
MOST_ROWS = 5000  # of one fit; more change nothing
MOST_TOKENS = 8192
HEAD_WIDTHS = (64, 128, 256)
LATENT, LATENT_VALUE = 576, 512  # a latent key, and the part of it that values are read from


@dataclass(frozen=True)
class Table:
    """Times of one operation on one device by one engine: arrays of µs.

    reading, arithmetic: at the data sheet's full rates. overlap: of the two, where it is given.
    """

    device: str
    engine: str
    operation: str
    format: str
    kernels: str
    source: str
    reading: np.ndarray
    arithmetic: np.ndarray
    measured: np.ndarray
    overlap: float | None = None


class Reader:
    """The package's tables, one operation after the other."""

    def __init__(self, folder: str):
        self.folder = folder
        self.draw = np.random.default_rng(0)
        self.package = f"aiconfigurator {version('aiconfigurator')}"

    def tables(self) -> Iterator[Table]:
        """Every table; where two have the same device, engine and operation the later is newer."""
        for read in (
            self._matrices,
            self._experts,
            self._decode_attention,
            self._prompt_attention,
            self._latent_attention,
            self._sums,
        ):
            yield from read()

    def _files(self, operation, name):
        found = []
        for path in glob(f"{self.folder}/*/{operation}/*/*/{name}"):
            device, _, engine, edition = os.path.relpath(path, self.folder).split(os.sep)[:4]
            key = [int(x) for x in "".join(c if c.isdigit() else " " for c in edition).split()]
            if device in DEVICES:
                found.append((device, engine, key, path))
        for device, engine, _, path in sorted(found):
            yield presets.accelerators()[DEVICES[device]], ENGINES[engine], path

    def _sampled(self, rows):
        if len(rows) <= MOST_ROWS:
            return rows
        return rows.iloc[self.draw.choice(len(rows), MOST_ROWS, replace=False)]

    def _table(self, found, operation, form, kernels, reading, arithmetic, rows, overlap=None):
        device, engine, path = found
        return Table(
            device=device.id,
            engine=engine,
            operation=operation,
            format=form,
            kernels=" ".join(sorted(set(map(str, kernels)))),
            source=f"{self.package}: systems/data/{os.path.relpath(path, self.folder)}",
            reading=np.asarray(reading, float) / (device.bandwidth_gb_s * 1e3),
            arithmetic=np.asarray(arithmetic, float),
            measured=rows["latency"].to_numpy() * 1e3,
            overlap=overlap,
        )

    def _matrices(self):
        for found in self._files("gemm", "gemm_perf.parquet"):
            rows = pd.read_parquet(found[2])
            rows = rows[(rows.m <= MOST_TOKENS) & (rows.n >= 256) & (rows.k >= 256)]
            rows = rows[(rows.n * rows.k).between(2e6, 3e8)]
            for kind, part in rows.groupby("gemm_dtype"):
                if kind in FORMATS and len(part) >= 200:
                    form, width, unit = FORMATS[kind]
                    part = self._sampled(part)
                    moved = part.n * part.k * width + 2 * part.m * (part.n + part.k)
                    work = 2 * part.m * part.n * part.k / peak(found[0], unit)
                    yield self._table(found, "matrix", form, part.kernel_source, moved, work, part)

    def _experts(self):
        for found in self._files("moe", "moe_perf.parquet"):
            rows = pd.read_parquet(found[2])
            rows = rows[(rows.num_tokens <= MOST_TOKENS) & (rows.num_experts >= 32)]
            rows = rows[(rows.moe_tp_size <= 8) & (rows.moe_ep_size <= 8)]
            rows = rows[rows.distribution == "power_law_1.01"]
            rows = rows[~rows.kernel_source.str.contains("nongated")]
            for (kind, kernel), part in rows.groupby(["moe_dtype", "kernel_source"]):
                if kind in FORMATS and len(part) >= 100:
                    form, width, unit = FORMATS[kind]
                    part = self._sampled(part)
                    each = 3 * part.hidden_size * part.inter_size / part.moe_tp_size
                    missed = (1 - part.topk / part.num_experts) ** part.num_tokens
                    covered = part.num_experts / part.moe_ep_size * (1 - missed)
                    work = 2 * part.num_tokens * part.topk / part.moe_ep_size * each
                    yield self._table(
                        found,
                        "experts",
                        form,
                        [kernel],
                        covered * each * width,
                        work / peak(found[0], unit),
                        part,
                    )

    def _decode_attention(self):
        for found in self._files("attention", "generation_attention_perf.parquet"):
            rows = _without(pd.read_parquet(found[2]), "window_size")
            heads = rows.num_key_value_heads
            rows = rows[heads.between(1, 8) & (rows.num_heads >= 2 * heads)]
            for (kind, width), part in rows.groupby(["kv_cache_dtype", "head_dim"]):
                if width in HEAD_WIDTHS and kind in FORMATS and len(part) >= 200:
                    form, size, _ = FORMATS[kind]
                    part = self._sampled(part)
                    tokens = part.batch_size * (part.step + part.isl)
                    moved = tokens * part.num_key_value_heads * 2 * width * size
                    work = tokens * part.num_heads * 4 * width / peak(found[0], "fp16")
                    name = f"attention-decode-{width}"
                    yield self._table(
                        found, name, form, part.kernel_source, moved, work, part, overlap=2
                    )

    def _prompt_attention(self):
        for found in self._files("attention", "context_attention_perf.parquet"):
            rows = _without(_without(pd.read_parquet(found[2]), "window_size"), "step")
            rows = rows[(rows.isl >= 1024) & (rows.num_key_value_heads <= 16)]
            for (kind, width), part in rows.groupby(["kv_cache_dtype", "head_dim"]):
                if width in HEAD_WIDTHS and kind in FORMATS and len(part) >= 50:
                    part = self._sampled(part)
                    pairs = part.batch_size * part.isl**2 / 2
                    work = pairs * part.num_heads * 4 * width / peak(found[0], "fp16")
                    name, form = f"attention-prompt-{width}", FORMATS[kind][0]
                    yield self._table(
                        found, name, form, part.kernel_source, 0 * work, work, part, overlap=1
                    )

    def _latent_attention(self):
        for found in self._files("mla", "generation_mla_perf.parquet"):
            rows = pd.read_parquet(found[2])
            if "gemm_type" in rows:
                rows = rows[rows.gemm_type.isin(["fp8_block", "bfloat16"])]
            rows = rows[rows.num_heads.between(8, 128)]
            for kind, part in rows.groupby("kv_cache_dtype"):
                form, size, _ = FORMATS[kind]
                part = self._sampled(part)
                tokens = part.batch_size * (part.step + part.isl)
                work = tokens * part.num_heads * 2 * (LATENT + LATENT_VALUE)
                yield self._table(
                    found,
                    "latent-decode",
                    form,
                    part.kernel_source,
                    tokens * LATENT * size,
                    work / peak(found[0], "fp16"),
                    part,
                    overlap=2,
                )

    def _sums(self):
        for found in self._files("comm", "custom_allreduce_perf.parquet"):
            rows, device = pd.read_parquet(found[2]), found[0]
            if "op_name" in rows:
                rows = rows[rows.op_name == "all_reduce"]
            kind = next(column for column in rows if "dtype" in column)
            rows = rows[rows[kind].isin(["bfloat16", "half", "float16"])]
            rows = rows[(rows.message_size <= 2**27) & ~rows.kernel_source.str.contains("eager")]
            for devices, part in rows.groupby("num_gpus"):
                if devices <= 8:
                    # message_size counts 16-bit elements: only so the rates agree with the links
                    sent = 2 * (devices - 1) / devices * part.message_size * 2
                    moved = sent / device.link_gb_s * device.bandwidth_gb_s
                    name = f"all-reduce-{devices}"
                    yield self._table(
                        found, name, "16", part.kernel_source, moved, 0 * moved, part, overlap=1
                    )


def peak(device, unit) -> float:
    """FLOPs a µs in a format; at 16 bits where the device has no units for it."""
    return (getattr(device, f"{unit}_tflops") or device.fp16_tflops) * 1e6


def _without(rows, column):
    return rows[rows[column] == 0] if column in rows else rows
