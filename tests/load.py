"""A full class on one machine: prints figures, asserts nothing. Run by hand, on a quiet machine:

    python tests/load.py --sessions 60 --seconds 120
    python tests/load.py --sessions 60 --seconds 120 --plans 60
    python tests/load.py --sessions 120 --seconds 120 --processes 2 --browsers 2

Each session moves a slider every two seconds or so and rests (tests/sessions.py); the same load
goes to the barest Streamlit page first, which is what the figures are to be held against. With the
films most moves need no server: what is measured is the settled change, from the websocket message
to the end of the script. All sessions open one link, as a class does, or so many different ones
(--plans), of which the server has little that it could share. More than one process stands behind
nginx with `.deploy/nginx.conf` (Debian: apt-get install nginx). The sessions themselves run in this
process and take their share of the machine, which is printed.

    python tests/load.py --soak 90 --sessions 20 --plans 20

opens the sessions, moves their sliders twenty times each without a pause, closes them, and does so
as many times over: 36,000 changes, what 20 visitors do in an hour. Memory must come to a rest
after the first rounds: Streamlit keeps up to 128 closed sessions for two minutes.

    python tests/load.py --guesses 120

has a class guess in one room within ten seconds, and asks a presenter how many have.
"""

import argparse
import asyncio
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.browser import FLAGS, ROOT, app, chromium_path
from tests.sessions import BAREST, Barest, Guesser, Presenter, Visitor

BETWEEN_S = (1.5, 2.5)  # changes of a session
GUESSED_WITHIN_S = 10
CHANGES_A_ROUND = 20  # of each session of a soak


# --- servers --------------------------------------------------------------------------------------


def free_ports(count):
    """Ports of this machine that nobody listens on."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextmanager
def served(processes, script="app.py"):
    """The app in so many processes; yields where it is and the processes' ids."""
    *ports, front = free_ports(processes + 1)
    with ExitStack() as running:
        addresses = [running.enter_context(app(port, script)) for port in ports]
        ids = [listening(port) for port in ports]
        if processes == 1:
            yield addresses[0], ids
        else:
            running.enter_context(nginx(front, ports))
            yield f"http://127.0.0.1:{front}", ids


@contextmanager
def nginx(front, ports):
    """`.deploy/nginx.conf` on other ports."""
    text = (ROOT / ".deploy" / "nginx.conf").read_text()
    servers = "".join(f"server 127.0.0.1:{port} max_fails=1 fail_timeout=5s;\n" for port in ports)
    text = re.sub(r"(    server 127\S+ .*\n)+", servers, text)
    with tempfile.TemporaryDirectory() as folder:
        text = text.replace("listen 8080", f"listen 127.0.0.1:{front}")
        text = text.replace("/tmp/planner-nginx", f"{folder}/nginx")
        conf = Path(folder) / "nginx.conf"
        conf.write_text(text)
        Path(folder).chmod(0o755)
        server = subprocess.Popen(["nginx", "-c", str(conf), "-g", "daemon off;"])
        try:
            for _ in range(50):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", front)) == 0:
                        break
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait(10)


def listening(port):
    """The id of the process that listens on a port of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"}
    for process in Path("/proc").glob("[0-9]*"):
        for handle in (process / "fd").glob("*") if os.access(process / "fd", os.R_OK) else ():
            try:
                if handle.readlink().name.removeprefix("socket:[").rstrip("]") in inodes:
                    return int(process.name)
            except OSError:
                continue  # closed meanwhile
    raise LookupError(f"nobody listens on port {port}")


def cpu_s(ids):
    """Seconds of a core that processes have taken so far."""
    ticks = 0
    for each in ids:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def rss_mb(ids):
    """Memory that processes hold, in MB."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in ids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# --- load -----------------------------------------------------------------------------------------


async def moving(visitor, end):
    """A visitor who moves the slider until the end, at a time of their own."""
    low, high = BETWEEN_S
    due = time.perf_counter() + visitor.random.uniform(0, high)
    while due < end:
        await asyncio.sleep(max(0, due - time.perf_counter()))
        await visitor.change()
        due = max(due + visitor.random.uniform(low, high), time.perf_counter())


async def browsing(count, address, seconds):
    """Real browsers beside them: ms from a key press until the address bar tells of the answer."""
    from playwright.async_api import async_playwright

    times = []

    async def one(page, end):
        await page.goto(f"{address}/?v=1&context=8192", timeout=60_000)
        await page.locator(".st-key-chart-latency .marks").first.wait_for(timeout=60_000)
        await page.locator(".st-key-slider-context input[type=range]").focus()
        while time.perf_counter() < end:
            before = page.url
            start = time.perf_counter()
            await page.keyboard.press("ArrowRight" if len(times) % 20 < 10 else "ArrowLeft")
            await page.wait_for_url(lambda url, before=before: url != before)
            times.append(1e3 * (time.perf_counter() - start))
            await asyncio.sleep(2)

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        end = time.perf_counter() + seconds
        pages = [await browser.new_page() for _ in range(count)]
        await asyncio.gather(*(one(page, end) for page in pages))
        await browser.close()
    return times


async def load(kind, asked, address, ids):
    """Put the load on the app and print what came of it; the median in ms."""
    first = kind(address, 0)
    await first.open()
    await first.close()
    before = rss_mb(ids)
    sessions, seconds, browsers = asked.sessions, asked.seconds, asked.browsers
    visitors = [kind(address, own, plan=own % asked.plans) for own in range(sessions)]
    opened = []
    for visitor in visitors:  # a class comes in one after another
        opened.append(await visitor.open())
    settled = rss_mb(ids)
    started, cpu, own = time.perf_counter(), cpu_s(ids), time.process_time()
    end = started + seconds
    work = [moving(visitor, end) for visitor in visitors]
    if browsers and kind is Visitor:
        work.append(browsing(browsers, address, seconds))
    found = await asyncio.gather(*work)
    took = time.perf_counter() - started
    cpu, own = cpu_s(ids) - cpu, time.process_time() - own
    times = 1e3 * np.array([each for visitor in visitors for each in visitor.times])
    lost = sum(visitor.lost for visitor in visitors)
    films = [1e3 * each for visitor in visitors for each in visitor.film_times]
    sizes = [each for visitor in visitors for each in visitor.sizes]
    print(f"  {len(times):,} changes answered, {lost} lost; {len(times) / took:.1f} a second")
    print(f"  a settled change: {quantiles(times)}, most {times.max():.0f} ms")
    if films:
        refused = sum(visitor.refused for visitor in visitors)
        print(f"  {len(films)} films, {refused} refused: {quantiles(films)}")
    if browsers and kind is Visitor:
        print(
            f"  {browsers} browsers, key to address bar (200 ms of it rest): {quantiles(found[-1])}"
        )
    print(
        f"  {1e3 * cpu / len(times):.1f} ms of a core a change, films included;"
        f" {100 * cpu / took:.0f} % of a core, the sessions' own process {100 * own / took:.0f} %;"
        f" {statistics.mean(sizes) / 1e3:.1f} kB a change"
    )
    print(
        f"  opening: {quantiles(1e3 * np.array(opened))}; memory {before:.0f} MB,"
        f" with {sessions} open {settled:.0f} MB, after the load {rss_mb(ids):.0f} MB:"
        f" {(rss_mb(ids) - before) / sessions:.2f} MB a session"
    )
    for visitor in visitors:
        await visitor.close()
    return float(np.median(times))


async def soak(asked, address, ids):
    """Sessions that come and go; prints what memory the server holds after each tenth of them."""
    start, changes, lost = time.perf_counter(), 0, 0
    for turn in range(asked.soak):
        visitors = [
            Visitor(address, asked.sessions * turn + own, plan=own % asked.plans)
            for own in range(asked.sessions)
        ]
        for visitor in visitors:
            await visitor.open()
        for _ in range(CHANGES_A_ROUND):
            await asyncio.gather(*(visitor.change() for visitor in visitors))
        open_ = rss_mb(ids)
        for visitor in visitors:
            await visitor.close()
        changes += sum(len(visitor.times) for visitor in visitors)
        lost += sum(visitor.lost for visitor in visitors)
        if turn % max(asked.soak // 10, 1) == 0 or turn == asked.soak - 1:
            print(
                f"  {(turn + 1) * asked.sessions:,} sessions, {changes:,} changes, {lost} lost:"
                f" {open_:.0f} MB open, {rss_mb(ids):.0f} MB closed,"
                f" {time.perf_counter() - start:.0f} s",
                flush=True,
            )


async def guessing(count, address):
    """A class that opens a room's question and guesses, all within ten seconds."""
    guessers = [Guesser(address, own) for own in range(count)]
    for start in range(0, count, 10):
        await asyncio.gather(*(each.open() for each in guessers[start : start + 10]))

    async def one(each):
        await asyncio.sleep(each.random.uniform(0, GUESSED_WITHIN_S))
        return await each.guess()

    begun = time.perf_counter()
    times = await asyncio.gather(*(one(each) for each in guessers))
    took = time.perf_counter() - begun
    presenter = Presenter(address, count)
    await presenter.open()
    (counted,) = [text for text in presenter.said if "have guessed" in text]
    print(f"{count} guesses in {took:.1f} s: {quantiles(1e3 * np.array(times))}")
    print(f"The presenter sees: {re.sub('<.*?>', '', counted)}")
    for each in (*guessers, presenter):
        await each.close()


def quantiles(times):
    return f"median {np.median(times):.0f} ms, 95th percentile {np.percentile(times, 95):.0f} ms"


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--sessions", type=int, default=60)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--processes", type=int, default=1, help="behind nginx if more than one")
    options.add_argument("--plans", type=int, default=1, help="different ones among them")
    options.add_argument("--browsers", type=int, default=0, help="real ones besides")
    options.add_argument("--soak", type=int, default=0, help="rounds of sessions that come and go")
    options.add_argument("--guesses", type=int, default=0, help="of a class in one room")
    options.add_argument("--no-barest", action="store_true", help="leave out the reference")
    asked = options.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if asked.guesses:
        with served(1) as (address, _):
            asyncio.run(guessing(asked.guesses, address))
        return
    if asked.soak:
        with served(1) as (address, ids):
            asyncio.run(soak(asked, address, ids))
        return
    what = f"{asked.sessions} sessions on {asked.processes} process(es), {asked.seconds:.0f} s"
    bare = None
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "app.py"
        script.write_text(BAREST)
        if not asked.no_barest:
            print(f"The barest Streamlit page, {what}")
            with served(asked.processes, script) as (address, ids):
                bare = asyncio.run(load(Barest, asked, address, ids))
    print(f"The Plan page, {what}")
    with served(asked.processes) as (address, ids):
        own = asyncio.run(load(Visitor, asked, address, ids))
    if bare:
        print(f"  {own / bare:.1f} times the barest page")


if __name__ == "__main__":
    main()
