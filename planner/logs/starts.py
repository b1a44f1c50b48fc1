"""Which lines of a log belong together: one start of one model, and one rank of it."""

import re
from bisect import bisect_right
from collections.abc import Mapping

from planner.logs.clean import places

# Lines that an engine prints once when it starts, or loads a model.
STARTS = (
    "vLLM API server version",
    "Initializing a V1 LLM engine",
    "Initializing a V0 LLM engine",
    "Initializing an LLM engine",
    "server_args=ServerArgs(",
    "loaded meta data with",
    'msg="starting runner"',
)
CONTEXTS = ("constructing llama_context", "n_seq_max ", "new_context_with_model: n_ctx ")
# Who wrote a line, in front of what it says.
WRITER = re.compile(
    r"\((\w*(?:Worker|EngineCore|Engine|RayTrainWorker)\w*[^)\n]{0,60})\)|"
    r"\[[\d: -]{10,25}((?: (?:ATTN_)?[A-Z]{2}\d{1,4})+)\]|"
    r"\[(RANK \d{1,4})\]|\[\d{1,3},(\d{1,4})\]<std"
)
RANKS = {  # how the ranks of a layout are numbered in a writer's name
    "tensor_parallel": re.compile(r"\bTP(\d{1,4})|_TP(\d{1,4})|(?:^| )rank=(\d{1,4})"),
    "pipeline_parallel": re.compile(r"(?:\b|_)PP(\d{1,4})"),
    "data_parallel": re.compile(r"(?:\b|_)DP(\d{1,4})"),
}
MOST_STARTS = 1000


class Places:
    """For a place in a log: which start it belongs to, who wrote it, which context it is of."""

    def __init__(self, text):
        self._text = text
        self._lines = [0, *(each.end() for each in re.finditer("\n", text))]
        self._writers = {}
        self._first, self._starts = self._repeated()
        found = sorted(
            place for words in CONTEXTS[:1] for place in places(text, words, MOST_STARTS)
        )
        self._contexts = found or sorted(
            place for words in CONTEXTS[1:] for place in places(text, words, MOST_STARTS)
        )

    def number(self, place):
        """The line of a place, from 0."""
        return bisect_right(self._lines, place) - 1

    def column(self, place):
        """How far a place is from the beginning of its line."""
        return place - self._lines[self.number(place)]

    def start(self, place):
        """Which start a place belongs to; −1 for what stands before the first of several."""
        return -1 if place < self._first else bisect_right(self._starts, place)

    def context(self, place):
        """Which of llama.cpp's contexts a place belongs to."""
        return bisect_right(self._contexts, place)

    def writer(self, place):
        """Who wrote a line, as it calls itself; “” where the line does not say."""
        number = self.number(place)
        if number not in self._writers:
            start, end = self._lines[number], self._lines[number + 1 : number + 2]
            match = WRITER.search(self._text, start, min([start + 200, *end]))
            said = next(filter(None, match.groups()), "") if match else ""
            self._writers[number] = said.strip()
        return self._writers[number]

    def _repeated(self):
        """Where a process first says that it starts, and where it says so again."""
        marks = sorted(
            (place, words) for words in STARTS for place in places(self._text, words, MOST_STARTS)
        )
        said, again = set(), []
        for place, words in marks[:MOST_STARTS]:
            writer = re.sub(r"pid=\d+", "", self.writer(place))
            if (words, writer) in said:
                again.append(self._lines[self.number(place)])
                said = set()
            said.add((words, writer))
        first = self._lines[self.number(marks[0][0])] if again else 0
        return first, again


def is_rank(writer: str) -> bool:
    """Whether a writer is one of several devices' processes."""
    return bool(re.search(r"Worker|RANK|rank=|(?:TP|PP|DP)\d|^\d+$", writer))


def devices_of(writers: Mapping[str, int]) -> list[tuple[str, tuple[int, int]]]:
    """How many devices the numbered ranks among some writers are at least, by kind of layout.

    writers: a place of each. Each kind with the number and a place of the last rank.
    """
    found = []
    for kind, pattern in RANKS.items():
        matches = [(pattern.search(writer), place) for writer, place in writers.items()]
        numbers = [
            (int(next(filter(None, match.groups()))) + 1, place)
            for match, place in matches
            if match
        ]
        found += [(kind, max(numbers))] if numbers else []
    return found
