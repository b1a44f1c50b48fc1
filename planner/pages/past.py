"""Edit the past: which stored keys and values change when a token of the text does."""

from planner.pages import learn

visit = learn.opened("past")
learn.moved(visit, "edit", "place", "mask")
learn.closed(visit, learn.shown(visit))
