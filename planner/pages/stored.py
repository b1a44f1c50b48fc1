"""What is stored: a small causal attention, step by step."""

from planner.lesson import views_attention
from planner.pages import learn

visit = learn.opened("stored", views_attention.what_is_stored)
learn.moved(visit, "step", "prompt", "cache")
learn.closed(visit, learn.shown(visit))
