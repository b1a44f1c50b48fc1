"""Whether words in the charts of the Plan page stand apart: prints what does not, asserts nothing.

Run by hand: python tests/collisions.py [plans, 200] [seed, 1]

Random valid plans (with and without an engine, several devices, mixtures of experts; every other
one in presenter view) are put on the stage of the running app at 390, 1,440 and 1,920 px, as the
server would send them, and the boxes of what is drawn are read (tests/boxes.js): words on words,
on lines, on dots, cut off, legends of what is absent or far away, width left unused. Ends with 1
where anything was found. 200 plans take some minutes.
"""

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from planner import Scenario, encode, evaluate
from planner.charts.picture import enlarged
from planner.charts.style import themed
from planner.inputs import presets
from planner.pages import predict, screen
from planner.stage import scene
from planner.stage.packed import pack
from planner.web import static
from tests.browser import app, chromium, idle

FINDINGS = Path(__file__).with_name("boxes.js").read_text("utf-8")
SIZES = {390: 844, 1440: 1000, 1920: 1080}

# Puts a plan on the stage that the page has, and waits until nothing more is drawn.
PUT = """async ({ script, data }) => {
  window.stageFile ??= await import(new URL(script, location.href).href)
  const root = window.stageRoot ??= document.querySelector('.stage').parentElement
  let last = performance.now()
  const watch = new MutationObserver(() => { last = performance.now() })
  window.stageFile.default({ data, parentElement: root, setTriggerValue() {} })
  watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true })
  while (performance.now() - last < 150) await new Promise((done) => setTimeout(done, 30))
  watch.disconnect()
}"""


def plans(count: int, seed: int) -> list[Scenario]:
    """Random scenarios as people have them: a load that is somewhere near what fits, and far off.

    Ways to run an engine that are not allowed are drawn anew.
    """
    draw, found = random.Random(seed), []
    lessons = ["lesson-7b-mha", "lesson-7b-gqa"]
    models = sorted(presets.models())
    experts = [name for name in models if presets.model(name).experts]
    devices, engines = sorted(presets.accelerators()), sorted(presets.engines())
    while len(found) < count:
        engine = draw.choice(["ideal", draw.choice(engines)])
        output = draw.choice([0, 0, 256, 1024])
        try:
            found.append(
                Scenario(
                    draw.choice([draw.choice(lessons), draw.choice(models), draw.choice(experts)]),
                    weights=draw.choice([None, None, *presets.weight_formats()]),
                    cache_k=(cache := draw.choice(["fp16", "fp16", "fp8"])),
                    cache_v=cache,
                    device=draw.choice(devices),
                    tp=draw.choice([1, 1, 2, 4, 8]),
                    pp=draw.choice([1, 1, 1, 2]),
                    dp=draw.choice([1, 1, 1, 2, 4]),
                    concurrency=round(2 ** draw.triangular(0, 12, 4)),
                    context=round(2 ** draw.triangular(7, 20, 13)),
                    engine=engine,
                    output=output,
                )
            )
        except ValueError:
            continue
    return found


def sent(scenario: Scenario, lines: int, dark: bool = False) -> dict:
    """What the server sends to the stage for a plan at rest, its specifications among it.

    lines: of a room's screen, 0 where the view is not for a room.
    """
    evaluation = evaluate(scenario)
    shot = scene.shot(evaluation)
    pictures = list(scene.pictures(shot))
    specifications = {}
    for picture in pictures:
        spec = picture.specification(dark)
        if lines:
            text = round(predict.TEXT[True] * max(lines / screen.LINES, 0.8))
            spec = enlarged(spec, text, round(predict.LESS["plan"] * lines))
        specifications[picture.shape] = themed(spec, dark)
    data = {
        "files": {"vega": static.vega(), "film": "film"},
        "texts": {"ways": "Make it fit:", "waits": ""},
        "presenting": bool(lines),
        "film": pack([scene.scene(shot, pictures)]),
        "query": "",
        "numbers": {},
        "stops_a_film": 16,
        "rest": scene.at_rest(evaluation, pictures),
        "view": f"{'dark' if dark else 'light'} {lines}",
        "specifications": specifications,
    }
    return {"script": static.address("stage"), "data": data}


def page_at(browser, address, width, presenting):
    """The Plan page at a width, whose stage can show other plans."""
    page = browser.new_page(viewport={"width": width, "height": SIZES[width]})
    page.goto(f"{address}/?{'present=1' if presenting else ''}")
    idle(page)
    return page


def main(count: int = 200, seed: int = 1) -> int:
    scenarios = plans(count, seed)
    tally = Counter()
    with app() as address, chromium() as browser:
        for width in SIZES:
            pages = [page_at(browser, address, width, presenting) for presenting in (False, True)]
            for place, scenario in enumerate(scenarios):
                presenting = bool(place % 2)
                page = pages[presenting]
                page.evaluate(
                    PUT, sent(scenario, SIZES[width] if presenting and width > 640 else 0)
                )
                for chart, wrong, what in page.evaluate(FINDINGS, ".stage"):
                    tally[wrong] += 1
                    view = f"{width} px{', presenter view' if presenting else ''}"
                    print(f"{wrong}: {chart}: {what}  ({view}; ?{encode(scenario)})", flush=True)
            for page in pages:
                page.close()
    print(f"{count} plans at {len(SIZES)} widths: {dict(tally) or 'nothing found'}")
    return 1 if tally else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
