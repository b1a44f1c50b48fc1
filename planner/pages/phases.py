"""Two phases: prefill and decode under the roof, and one request in time."""

from planner.pages import learn

visit = learn.opened("phases")
learn.moved(visit, "batch", "prompt")
asked = learn.shown(visit, *learn.remedies())
learn.closed(visit, asked)
