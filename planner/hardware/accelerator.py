"""A device: how much it holds, how fast it reads, how fast it computes."""

from dataclasses import dataclass

# Where the figure of usable memory was read, from the surest to the least sure.
MEMORY_FROM = {
    "lesson": "stated by the lesson",
    "engine": "the total an engine reported",
    "driver": "the total the driver reported",
    "recalled": "the driver's total, from memory of a data sheet",
    "share": "the share of memory the system gives its GPU by default",
    "label": "the size on the label; the usable total is a little less",
}


@dataclass(frozen=True)
class Accelerator:
    """One row of presets/accelerators.csv, figures of one device; None where no source has one.

    target: what kernels are built for, NVIDIA's compute capability or AMD's gfx name; “” where none
    is known. label_gb: the size on the box. memory_gb: what a process can allocate, decimal GB,
    read where `memory_from` says. bandwidth_gb_s: main memory, decimal GB/s. The peaks are dense,
    10^12 a second; the 16-bit one with sums in 32 bits, and fp16_sum_tflops with sums in 16 bits
    where that is faster. link_gb_s: to other devices, one direction, GB/s. vector_tflops: FP32
    without matrix units, of presets/vector_rates.csv. confidence: high, medium, low or assumed, as
    far as the sources agree. source: the addresses where the figures were read.
    """

    id: str
    name: str
    vendor: str
    kind: str
    target: str
    label_gb: float
    memory_gb: float
    memory_from: str
    bandwidth_gb_s: float
    fp16_tflops: float
    fp16_sum_tflops: float | None
    fp8_tflops: float | None
    int8_tops: float | None
    fp4_tflops: float | None
    link_gb_s: float | None
    power_w: float | None
    confidence: str
    source: str
    vector_tflops: float | None = None

    @property
    def maker(self) -> str:
        """Whose engines run on it: its vendor, but of a CPU any engine for CPUs."""
        return "CPU" if self.kind.startswith("CPU") else self.vendor
