"""Managing it: contiguous and paged memory under the same requests."""

from planner.lesson import views_memory
from planner.pages import learn

visit = learn.opened("managing", views_memory.managing)
learn.moved(visit, "tick", "arrivals", "prefix", "leak")
learn.closed(visit, learn.shown(visit))
