"""Every page as it looks, for a person to look at: writes pictures and a sheet of all of them.

Run by hand: python tests/snapshots.py FOLDER

Opens each page in headless Chromium, light and dark, at 390, 1,440 and 1,920 px, and writes
FOLDER/<page>-<light or dark>-<width>.png, with FOLDER/sheet-<light or dark>.png, where a page is a
row. Prints what the boxes of its charts say is wrong (tests/boxes.js), and how far a page scrolls
sideways, at 720 px too, which is what 200 % zoom leaves of 1,440. Takes minutes.
"""

import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent.parent))
from planner.inputs import presets
from planner.lesson import words
from tests.browser import app, chromium, idle
from tests.collisions import FINDINGS, SIZES

TALL = 1600  # pixels of a page that a sheet shows, at its own width
SMALL = {390: 130, 1440: 480, 1920: 640}  # pixels of each width on a sheet
ZOOMED = 720
GAP = 12


def pages() -> dict[str, str]:
    """The address of each page by its name; of the comparison empty and with an example."""
    plain = ["size", "compare", "log", "accuracy", "lesson", *words.pages()]
    example = f"compare?{presets.comparisons()[0].query}"
    return {"plan": "", **{name: name for name in plain}, "compared": example}


def looked_at(page, name, look, folder):
    """Write the page at every width, and print what is wrong with it."""
    for width in (*SIZES, ZOOMED):
        page.set_viewport_size({"width": width, "height": SIZES.get(width, 450)})
        page.wait_for_timeout(600)  # what is drawn follows
        sideways = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if sideways > 0:
            print(f"{name}, {look}, {width} px: scrolls sideways by {sideways} px", flush=True)
        if width == ZOOMED:
            continue
        for chart, wrong, what in page.evaluate(FINDINGS, "body"):
            print(f"{name}, {look}, {width} px: {wrong}: {chart}: {what}", flush=True)
        page.set_viewport_size({"width": width, "height": TALL})
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{name}-{look}-{width}.png")


def sheet(folder: Path, look: str, names) -> Image.Image:
    """All pages of one look: a row a page, the widths beside each other."""
    rows = []
    for name in names:
        shots = [Image.open(folder / f"{name}-{look}-{width}.png") for width in SIZES]
        sizes = [(small, round(TALL * small / width)) for width, small in SMALL.items()]
        rows.append([shot.resize(size) for shot, size in zip(shots, sizes, strict=True)])
    height = max(shot.height for shot in rows[0]) + GAP
    made = Image.new("RGB", (sum(SMALL.values()) + GAP * len(SMALL), height * len(rows)), "#888")
    for down, row in enumerate(rows):
        across = 0
        for shot in row:
            made.paste(shot, (across, down * height))
            across += shot.width + GAP
    return made


def main(folder: str):
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    with app() as address, chromium() as browser:
        for look in ("light", "dark"):
            page = browser.new_page(color_scheme=look, viewport={"width": 1440, "height": 1000})
            for name, path in pages().items():
                page.goto(f"{address}/{path}")
                idle(page, "h1, h2")
                looked_at(page, name, look, into)
            page.close()
            sheet(into, look, pages()).save(into / f"sheet-{look}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
