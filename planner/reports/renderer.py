"""Draws Vega-Lite specifications, and bundles Vega for a browser, in a process of its own.

Drawing holds the interpreter for up to a second. In the server's own it would hold up every page
that is open. The process starts with the first picture and ends with the one that started it.
"""

import atexit
import base64
import contextlib
import json
import subprocess
import sys
import threading

SCALE = 2  # pixels of a PNG for each of the screen's, for screens and slides
BUNDLED = "window.plannerVega = { vega, vegaLite, vegaEmbed };"
_alone = threading.Lock()
_processes = []


def drawn(spec: dict, form: str) -> bytes:
    """A specification as a file. form: svg or png. ValueError where it cannot be drawn."""
    return _asked(spec, form)


def bundle() -> bytes:
    """Vega, Vega-Lite and vega-embed as one script, which lays them into `window.plannerVega`."""
    return _asked(None, "bundle")


def _asked(spec, form):
    with _alone:
        process = _running()
        try:
            process.stdin.write(json.dumps([spec, form]).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BaseException:
            process.kill()  # or its answer would be taken for that of the next picture
            raise
    if not answer:
        raise ValueError("what draws the pictures has ended")  # the next picture starts it anew
    made, problem = json.loads(answer)
    if problem:
        raise ValueError(problem)
    return base64.b64decode(made)


def _running():
    if not _processes or _processes[-1].poll() is not None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-P", __file__], **pipes)
        atexit.register(process.kill)
        _processes[:] = [process]
    return _processes[-1]


def _draw():
    """Answer each line of standard input with a picture or what is wrong with it."""
    import vl_convert

    for line in sys.stdin.buffer:
        spec, form = json.loads(line)
        made, problem = b"", ""
        try:
            if form == "bundle":
                made = vl_convert.javascript_bundle(BUNDLED).encode()
            elif form == "png":
                made = vl_convert.vegalite_to_png(spec, scale=SCALE, allowed_base_urls=[])
            else:
                made = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()
        except ValueError as found:
            problem = str(found)
        print(json.dumps([base64.b64encode(made).decode(), problem]), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # a terminal's Ctrl-C reaches both
        _draw()
