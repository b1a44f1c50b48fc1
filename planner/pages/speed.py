"""Slower as it talks: text at the predicted speed, MHA beside GQA and a reader."""

from planner.lesson import streaming, views_memory
from planner.pages import learn, program, stream
from planner.pages.boards import Board

visit = learn.opened("speed")
learn.moved(visit, "context", "concurrency")
contexts = {f"{tokens:,} tokens": {"context": tokens} for tokens in streaming.LESSON_CONTEXTS}
learn.shortcuts(visit, contexts)
asked = learn.figures(visit)
lanes = views_memory.lanes(visit.values)


def text():
    """The lanes side by side, unless one of their speeds is asked for."""
    if asked.shows([lane["figure"] for lane in lanes]):
        stream.texts(lanes)


learn.pictures(visit, asked, first=[Board("As one reads it", text)])
program.show(asked)
learn.closed(visit, asked)
