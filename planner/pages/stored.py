"""What is stored: a small causal attention, step by step."""

from planner.pages import learn

visit = learn.opened("stored")
learn.moved(visit, "step", "prompt", "cache")
learn.closed(visit, learn.shown(visit))
