"""Slower as it talks: text at the predicted speed, MHA beside GQA and a reader."""

from planner.lesson import streaming, views_memory
from planner.pages import learn, stream

visit = learn.opened("speed", views_memory.speed)
learn.moved(visit, "context", "concurrency")
learn.shortcuts(visit, "context", streaming.LESSON_CONTEXTS)
asked = learn.figures(visit)
lanes = views_memory.lanes(visit.values)
if asked.shows([lane["figure"] for lane in lanes]):
    stream.texts(lanes)
learn.pictures(visit, asked)
learn.closed(visit, asked)
