"""Renews a provider's rows of presets/prices.csv from a catalogue file.

    python -m planner.maintain.prices vms.csv --provider aws --tier hyperscaler \
        --date 2026-12-01 --source "…, catalogs/v8/aws/vms.csv"

The catalogue is a CSV file as SkyPilot keeps one for each cloud
(https://github.com/skypilot-org/skypilot-catalog): a row for each instance and region, with
`AcceleratorName`, `AcceleratorCount`, `Price` and `SpotPrice` in US dollars an hour. A device's
price is the median over regions of the price of one; the provider's older rows for that device and
provisioning go. Accelerators that are not known here are listed and left out.
"""

import argparse
import csv
from collections.abc import Iterable, Sequence
from datetime import date
from statistics import median

from planner.files import PRESETS, rows
from planner.sizing.prices import CLOUD

FILE = "prices.csv"
DEVICES = {  # a catalogue's names of accelerators, in capitals without their signs
    "A10": "a10",
    "A100": "a100-40-sxm",
    "A10080GB": "a100-80-sxm",
    "A10G": "a10g",
    "B200": "b200-sxm",
    "B300": "b300-sxm",
    "GH200": "gh200-96",
    "H100": "h100-sxm",
    "H100NVL": "h100-nvl",
    "H100PCIE": "h100-pcie",
    "H100SXM": "h100-sxm",
    "H200": "h200-sxm",
    "H200SXM": "h200-sxm",
    "L4": "l4",
    "L40S": "l40s",
    "MI300X": "mi300x",
    "RTX3090": "rtx-3090",
    "RTX4090": "rtx-4090",
    "RTX6000ADA": "rtx-6000-ada",
    "RTXA6000": "rtx-a6000",
    "RTXPRO6000": "rtx-pro-6000-server",
    "T4": "t4",
    "V100": "v100-sxm2-16",
}
PROVISIONING = {"on-demand": "Price", "spot": "SpotPrice"}


def device_of(name: str) -> str | None:
    """The device of a catalogue's accelerator; None where it is not known here."""
    return DEVICES.get("".join(filter(str.isalnum, name.upper())))


def offered(catalogue: Iterable[dict[str, str]]) -> tuple[dict[tuple[str, str], float], set[str]]:
    """USD an hour of one device by (device, provisioning), and accelerators that are unknown."""
    found, unknown = {}, set()
    for row in catalogue:
        name, count = row["AcceleratorName"], float(row["AcceleratorCount"] or 0)
        device = device_of(name)
        if name and device is None:
            unknown.add(name)
        if device is None or count < 1:
            continue
        for provisioning, column in PROVISIONING.items():
            if row[column]:
                found.setdefault((device, provisioning), []).append(float(row[column]) / count)
    return {key: median(each) for key, each in found.items()}, unknown


def renewed(
    own: Sequence[dict[str, str]],
    prices: dict[tuple[str, str], float],
    provider: str,
    tier: str,
    day: date,
    source: str,
) -> list[dict[str, str]]:
    """The rows with a provider's new ones in place of its older ones, at the end."""
    kept = [
        row
        for row in own
        if (row["device"], row["provisioning"]) not in prices or row["provider"] != provider
    ]
    new = [
        {
            "device": device,
            "provider": provider,
            "tier": tier,
            "provisioning": provisioning,
            "usd_per_device_hour": f"{usd:.4g}",
            "date": day.isoformat(),
            "source": source,
            "note": "median over regions",
        }
        for (device, provisioning), usd in sorted(prices.items())
    ]
    return [*kept, *new]


def main(arguments: Sequence[str] | None = None):
    """Renew the file, and say what was taken and what was left out."""
    parser = argparse.ArgumentParser(prog="python -m planner.maintain.prices")
    parser.add_argument("catalogue")
    parser.add_argument("--provider", required=True)
    parser.add_argument("--tier", required=True, choices=CLOUD)
    parser.add_argument("--date", required=True, type=date.fromisoformat)
    parser.add_argument("--source", required=True)
    asked = parser.parse_args(arguments)
    with open(asked.catalogue, newline="", encoding="utf-8") as file:
        prices, unknown = offered(csv.DictReader(file))
    found = renewed(rows(FILE), prices, asked.provider, asked.tier, asked.date, asked.source)
    with open(PRESETS / FILE, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    print(
        f"{len(prices)} prices of {asked.provider}; left out: {', '.join(sorted(unknown)) or '–'}"
    )


if __name__ == "__main__":
    main()
