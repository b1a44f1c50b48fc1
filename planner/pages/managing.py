"""Managing it: contiguous and paged memory under the same requests."""

from planner.pages import learn

visit = learn.opened("managing")
learn.moved(visit, "tick", "arrivals", "prefix", "leak")
asked = learn.shown(visit, learn.measures("managing"))
learn.closed(visit, asked)
