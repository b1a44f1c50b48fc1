"""The proof: a decoder run whole and run in cached steps, done right and with mistakes."""

from planner.pages import learn

visit = learn.opened("proof")
learn.moved(visit, "mistake", "precision", "seed")
learn.closed(visit, learn.shown(visit))
