"""Where to start: cards on a first visit, and the engines for a plan that has none yet."""

from html import escape
from urllib.parse import urlencode

import streamlit as st

from planner.inputs import presets, support
from planner.inputs.scenario import Scenario
from planner.pages import inputs, pins, screen
from planner.serving import Evaluation

GGUF = "GGUF"  # in the name of each format of llama.cpp
CARDS = """<style>
.starts { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 0.75rem }
.starts a { display: block; padding: 0.6rem 0.9rem; border: 1px solid #8A8F9888;
  border-radius: 0.6rem; color: inherit; text-decoration: none }
.starts a:hover, .starts a:focus-visible { border-color: #0072B2 }
.starts small, .starts span { font-size: 0.875rem }
.starts small { opacity: 0.85 } .starts b { display: block }
@media (max-width: 640px) {
  .starts { grid-template-columns: repeat(3, 1fr); gap: 0.4rem }
  .starts a { padding: 0.3rem 0.5rem } .starts span { display: none }
}
@media print { .starts { display: none } }
</style>"""


def cards(scenario: Scenario):
    """Starting points, each a link within this tab, as long as nothing was changed."""
    if scenario != Scenario():
        return
    examples = [each for each in presets.examples() if each.start]
    kept = urlencode({**screen.parameters(), **pins.parameters()})
    links(
        [
            (f"{each.query}&{kept}".rstrip("&"), each.start, each.title, each.sentence)
            for each in examples
        ]
    )


def links(found: list[tuple[str, str, str, str]]):
    """Cards, each a link within this tab: its query, what stands over it, its title and more."""
    made = "".join(
        f'<a href="?{escape(query)}" target="_self"><small>{escape(over)}</small>'
        f"<b>{escape(title)}</b><span>{escape(sentence)}</span></a>"
        for query, over, title, sentence in found
    )
    st.html(f'{CARDS}<nav class="starts" aria-label="Starting points">{made}</nav>')


def offered(evaluation: Evaluation) -> list[str]:
    """The engines to choose from where a real device has none, so that times are bounds only."""
    scenario = evaluation.plan.scenario
    if not evaluation.ideal or not scenario.the_device.maker:
        return []
    return support.suggested(
        scenario.device, presets.weight_format(scenario.weights).name.startswith(GGUF)
    )


def engines(evaluation: Evaluation):
    """That the figures are bounds and no forecast, and the engines that make one, a click each."""
    able = offered(evaluation)
    if not able:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="bounds"):
        st.markdown("Lower bound, not a forecast. Forecast with:", width="content")
        for id in able:
            name = presets.engine(id).name.partition(",")[0].partition(" since")[0]
            st.button(name, key=f"forecast-{id}", on_click=inputs.choose, args=("engine", id))
