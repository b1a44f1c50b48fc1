"""One engine's scheduler at work: what waits, what runs, and one event after the other.

Kept apart from what it means for a plan (`sizing.simulate`). Speed is what shapes this file: a
hundred thousand requests are half a million events, so states are plain lists by a request's
number, and what all decoding requests do in step (a token each, a block each so many tokens) is
counted for them together.

A request is read up to `base` tokens, which are its prompt, and after it was preempted what it had
written too; the pass that ends them writes one token. From step `since` on it writes one each step,
until the step `until`. Before step s it has stored base + s − since tokens.
"""

import heapq
import math
from collections import deque

from planner.sizing.arrivals import Requests
from planner.sizing.blocks import Cut, Pool
from planner.sizing.steps import Steps

NAN, NEVER = float("nan"), float("inf")
COMING, WAITING, READING, WRITING, GONE = range(5)
REPORT_EVENTS = 2_000


class Batching:
    """The state of an engine that serves some requests, see `simulate`."""

    def __init__(self, table: Steps, cut: Cut, requests: Requests, *, seats, pass_tokens, whole,
                 users, think_s, skip, lags):  # fmt: skip
        count = len(requests)
        self.table, self.seats, self.skip, self.whole = table, seats, skip, whole
        self.lags = lags
        self.budget = max(pass_tokens, seats) if table.mixes else pass_tokens
        self.pool, self.block = Pool(cut.blocks), cut.block_tokens
        self.arrival = requests.arrival_s.tolist()
        self.prompt = requests.prompt_tokens.tolist()
        self.base, self.left = list(self.prompt), requests.output_tokens.tolist()
        lengths = requests.prompt_tokens + requests.output_tokens
        self.fixed, self.refused = cut.fixed(lengths).tolist(), cut.refuses(lengths).tolist()
        self.pieces, self.piece_tokens = requests.prefixes, requests.piece_tokens
        self.piece_blocks = self.piece_tokens // self.block if self.pieces else 0
        self.state = [COMING] * count
        self.scheduled, self.first, self.last = [NAN] * count, [NAN] * count, [NAN] * count
        self.own_s = [0.0] * count
        self.done_tokens = [0] * count  # of base, read or found in the cache
        self.since, self.until = [0] * count, [0] * count
        self.turn = [0] * count  # which admission this is, so that old entries can be told
        self.own = [0] * count  # blocks it holds alone since it was admitted
        self.holds = [()] * count  # pieces that it shares
        self.clock = self.began = self.arrival[0] if count else 0.0
        self.step = self.passes = self.events = 0
        self.writing, self.cache_s, self.grows_s = 0, 0.0, 0.0
        self.waiting, self.reading = deque(), []
        self.admitted = []  # (request, turn), the youngest last; some have gone
        self.ends, self.bends = [], []  # heaps of (step, request, turn)
        # Those that need a block in steps s with s mod the block's tokens = i.
        turns = 1 if whole or self.block > lengths.max() else self.block
        self.needs, self.counts = [0] * turns, not whole and self.block <= lengths.max()
        self.users, self.think_s = users, think_s
        self.sent = min(users, count) if users else count
        self.due = [(self.arrival[each], each) for each in range(self.sent)]  # a heap
        leaves = requests.cancel_s
        self.leaves = [] if leaves is None else sorted(
            (each, i) for i, each in enumerate(leaves.tolist()) if each < NEVER
        )  # fmt: skip
        self.leaves.reverse()
        self.gone = self.preempted = self.read_tokens = self.reused_tokens = 0
        self.stopped = False
        # Requests that wait, and run, and blocks held during an event; the same with its end.
        self.during = (0, 0, 0)
        self.states = [(self.clock, 0, 0, 0)]

    def serve(self, progress=None):
        """Until every request is gone, or `progress` says so."""
        count, needs, turns, pool = len(self.arrival), self.needs, len(self.needs), self.pool
        while self.gone < count:
            if self.due:
                self._arrive()
            if self.leaves and self.leaves[-1][0] <= self.clock:
                self._leave()
            short = needs[self.step % turns] > pool.free and self._make_room()
            short = short and bool(self.writing or self.reading)
            if self.reading or (
                self.waiting and not short and self._head_fits(needs[self.step % turns])
            ):
                self._read(short)
            elif self.writing:
                self._jump(short)
            elif not self._wait():
                break
            self.events += 1
            self.states.append((self.clock, *self.during))
            if progress and not self.events % REPORT_EVENTS and progress(self.gone / count):
                self.stopped = True
                break

    # --- what comes and goes ----------------------------------------------------------------------

    def _arrive(self):
        """Those who are there when a pass is put together, which may be one pass ahead."""
        busy = self.lags and (self.writing or self.reading)
        known = self.began if busy else self.clock
        while self.due and self.due[0][0] <= known:
            request = heapq.heappop(self.due)[1]
            if self.refused[request]:
                self._end(request)
            elif self.state[request] == COMING:
                self.state[request] = WAITING
                self.waiting.append(request)

    def _wait(self):
        """Nothing runs: on to what comes next. False where nothing does."""
        if self.waiting or not self.due:
            return False
        self.clock = max(self.clock, self.due[0][0])
        self._note()
        return True

    def _note(self):
        """What holds while an event lasts, before those whose end it is are gone."""
        pool = self.pool
        running = self.writing + len(self.reading)
        self.during = (len(self.waiting), running, pool.blocks - pool.free)

    def _leave(self):
        """Users who go before their answer is written."""
        while self.leaves and self.leaves[-1][0] <= self.clock:
            request = self.leaves.pop()[1]
            state = self.state[request]
            if state == READING:
                self.reading.remove(request)
                self._free(request, self.own[request])
            elif state == WRITING:
                self._free(request, self._stop(request))
            elif state == WAITING:
                self.waiting.remove(request)
            if state != GONE:
                self._end(request)

    def _end(self, request):
        self.state[request] = GONE
        self.gone += 1
        if self.users and self.sent < len(self.arrival):
            # Whoever is done thinks, and then asks the next that nobody has asked.
            asked = self.sent
            self.arrival[asked] = max(self.arrival[asked], self.clock + self.think_s[asked])
            heapq.heappush(self.due, (self.arrival[asked], asked))
            self.sent += 1

    # --- blocks -----------------------------------------------------------------------------------

    def _head_fits(self, needed):
        """Whether the first that waits can be admitted now, and so many blocks are left."""
        if self.writing + len(self.reading) >= self.seats:
            return False
        return self._asks(self.waiting[0]) <= self.pool.free - needed

    def _whole_blocks(self, request):
        """Blocks of a request that is admitted: of all it will read, or of all it will store."""
        stored = self.base[request] + (self.left[request] - 1 if self.whole else 0)
        return self.fixed[request] - (-stored // self.block)

    def _asks(self, request):
        """Free blocks that it takes to admit a request."""
        blocks = self._whole_blocks(request)
        if not self.pieces:
            return blocks
        keys = self._shared(request)
        return blocks - len(keys) * self.piece_blocks + self.pool.missing(keys, self.piece_blocks)

    def _shared(self, request):
        """The pieces that lie in its prompt as a whole."""
        return self.pieces[request][: self.prompt[request] // self.piece_tokens]

    def _admit(self, request):
        """A request's blocks; what of it is in the cache need not be read."""
        pool, blocks = self.pool, self._whole_blocks(request)
        kept = pool.reuse(-1 - request)
        there = 0
        if self.pieces:
            keys = self._shared(request)
            there = pool.hold(keys, self.piece_blocks)
            shared = len(keys) * self.piece_blocks
            blocks -= shared
            self.holds[request] = keys
            if there < shared:
                pool.give(kept)
                kept = 0
        pool.take(blocks - kept)
        self.own[request] = blocks
        # The last token is always read: it is what the next one follows from.
        found = min(
            (there + kept) * self.block, (self.base[request] - 1) // self.block * self.block
        )
        self.reused_tokens += found
        self.read_tokens += self.base[request] - found
        self.done_tokens[request] = found
        self.turn[request] += 1
        self.state[request] = READING
        self.admitted.append((request, self.turn[request]))
        if self.turn[request] == 1:
            self.scheduled[request] = self.clock

    def _free(self, request, blocks, keep=0):
        """Give a request's blocks back; `keep` of them hold what it may be read from again."""
        self.pool.give(blocks - keep)
        self.pool.give(keep, -1 - request)
        for key in reversed(self.holds[request]):
            self.pool.drop(key)
        self.holds[request] = ()

    def _make_room(self):
        """Blocks for this step's tokens; the youngest give up theirs for them. Whether any did."""
        short = False
        while self.needs[self.step % len(self.needs)] > self.pool.free:
            self._preempt()
            short = True
        return short

    def _preempt(self):
        request, turn = self.admitted.pop()
        state = self.state[request]
        if state not in (READING, WRITING) or turn != self.turn[request]:
            return
        self.preempted += 1
        shared = len(self.holds[request]) * self.piece_blocks
        if state == READING:
            self.reading.remove(request)
            blocks, stored = self.own[request], self.done_tokens[request]
        else:
            stored = self.base[request] + self.step - self.since[request]
            blocks = self._stop(request)
            self.base[request], self.left[request] = stored + 1, self.until[request] - self.step
        self._free(request, blocks, max(stored // self.block - shared, 0))
        self.state[request] = WAITING
        self.waiting.appendleft(request)

    # --- passes -----------------------------------------------------------------------------------

    def _read(self, short):
        """A pass with prompts: those under way, then those that wait."""
        table, writing, flops_of = self.table, self.writing, self.table.first_flops
        beside = writing if table.mixes else 0
        budget = self.budget - beside
        # Prompts in a pass of their own leave the room of the step that follows.
        needed = self.needs[self.step % len(self.needs)]
        if beside:
            self.pool.take(needed)
            needed = 0
        tokens, flops, parts, place = 0, 0.0, [], 0
        while budget > 0:
            if place < len(self.reading):
                request = self.reading[place]
            elif short or not self.waiting or not self._head_fits(needed):
                break
            else:
                request = self.waiting.popleft()
                self._admit(request)
                self.reading.append(request)
            place += 1
            have = self.done_tokens[request]
            more = min(self.base[request] - have, budget)
            self.done_tokens[request] = have + more
            flops += flops_of[have + more] - flops_of[have]
            tokens, budget = tokens + more, budget - more
            parts.append(request)
        self._note()
        ended = [each for each in parts if self.done_tokens[each] == self.base[each]]
        seconds = table.prompts_s(writing, tokens, len(ended), self.cache_s, flops)
        self.began = self.clock
        self.clock += seconds
        self.passes += 1
        for request in parts:
            self.own_s[request] += seconds
        if beside:
            self._advance(1)
        for request in ended:
            self._write(request)
        self.reading = self.reading[len(ended) :]

    def _write(self, request):
        """The pass that ends what a request reads writes a token."""
        if self.first[request] != self.first[request]:
            self.first[request] = self.clock
        left, turn, table = self.left[request], self.turn[request], self.table
        if left == 1:
            self.last[request] = self.clock
            self._free(request, self.own[request])
            self._end(request)
            return
        step, reads = self.step, self.base[request] + 1
        self.state[request] = WRITING
        self.since[request], self.until[request] = step, step + left - 1
        heapq.heappush(self.ends, (step + left - 1, request, turn))
        place = table.kind(reads)
        self.writing += 1
        self.cache_s += table.cache_s(reads, place)
        self.grows_s += table.cache_per_token[place]
        if self.counts:
            self.needs[(step - reads + 1) % len(self.needs)] += 1
        for later in range(place + 1, len(table.knots)):
            bend = step + int(table.knots[later]) - reads
            if bend < step + left - 1:
                more = table.cache_per_token[later] - table.cache_per_token[later - 1]
                heapq.heappush(self.bends, (bend, request, turn, more))

    def _stop(self, request):
        """Take a request out of those that write; the blocks it holds alone."""
        stored = self.base[request] + self.step - self.since[request]
        blocks = self.own[request]
        if self.counts:
            self.needs[(self.since[request] - self.base[request]) % len(self.needs)] -= 1
            blocks += -(-stored // self.block) + (-self.base[request] // self.block)
        self.writing -= 1
        if self.writing:
            place = self.table.kind(stored + 1)
            self.cache_s -= self.table.cache_s(stored + 1, place)
            self.grows_s -= self.table.cache_per_token[place]
        else:
            self.cache_s = self.grows_s = 0.0
        return blocks

    def _advance(self, steps):
        """All that write have one token more each; those whose last it was are done."""
        self.step += steps
        self.cache_s += steps * self.grows_s
        step, bends, ends = self.step, self.bends, self.ends
        while bends and bends[0][0] <= step:
            _, request, turn, more = heapq.heappop(bends)
            if turn == self.turn[request] and self.state[request] == WRITING:
                self.grows_s += more
        while ends and ends[0][0] <= step:
            _, request, turn = heapq.heappop(ends)
            if turn == self.turn[request] and self.state[request] == WRITING:
                self.last[request] = self.clock
                self._free(request, self._stop(request))
                self._end(request)

    def _jump(self, short):
        """As many steps alike as there are until something changes."""
        until, request, turn = self.ends[0]
        while turn != self.turn[request] or self.state[request] != WRITING:
            heapq.heappop(self.ends)
            until, request, turn = self.ends[0]
        steps = until - self.step
        if self.bends:
            steps = min(steps, max(self.bends[0][0] - self.step, 1))
        if short or not self.skip:
            steps = 1
        first_s = self.table.decode_s(self.writing, self.cache_s)
        grows_s = self.table.pull[self.writing] * self.grows_s
        if steps > 1:
            steps = self._steps_until(self._stops_at(), steps, first_s, grows_s)
        steps, blocks = self._steps_with_room(steps)
        self.pool.take(blocks)
        self._note()
        before = steps - 1
        self.began = self.clock + before * first_s + grows_s * before * (before - 1) / 2
        self.clock += steps * first_s + grows_s * steps * before / 2
        self.passes += steps
        self._advance(steps)

    def _stops_at(self):
        """When somebody comes who might be admitted at once, or leaves."""
        comes = NEVER
        if not self.waiting and self.due:
            comes = self.due[0][0]
        return min(comes, self.leaves[-1][0]) if self.leaves else comes

    def _steps_until(self, at, most, first_s, grows_s):
        """The fewest steps that last until a time, at most so many."""
        wanted = at - self.clock
        if wanted <= 0:
            return 1
        if most * first_s + grows_s * most * (most - 1) / 2 <= wanted:
            return most
        # k · first + grows · k (k − 1) / 2 = wanted, solved for k in the way that takes grows = 0.
        half = first_s - grows_s / 2
        steps = 2 * wanted / (half + math.sqrt(half * half + 2 * grows_s * wanted))
        return min(math.ceil(steps - 1e-9) + self.lags, most)

    def _steps_with_room(self, steps):
        """(steps, blocks they need): no more than there are free blocks for."""
        needs, turns, free = self.needs, len(self.needs), self.pool.free
        if not self.counts:
            return steps, 0
        rounds = min(steps // turns, free // self.writing)
        blocks, taken = rounds * self.writing, rounds * turns
        while taken < steps:
            more = needs[(self.step + taken) % turns]
            if blocks + more > free:
                break
            blocks, taken = blocks + more, taken + 1
        return taken, blocks
