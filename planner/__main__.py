"""python -m planner: a plan, a comparison or a sizing in the terminal, for people and pipelines.

Exit status: 0 it fits (a comparison: every plan without a deliberate error; a sizing: the promise
is kept), 1 it does not, 2 bad input, with every problem on standard error.
"""

import argparse
import json
import os
import signal
import sys
from datetime import date
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from planner import __version__
from planner.compare import comparison
from planner.inputs.strict import page_of, query_of, read_link
from planner.lesson import words as lesson
from planner.logs.clean import decode as decode_log
from planner.logs.from_log import FromLog, plan_of_reading
from planner.logs.parse import read_log
from planner.logs.told import counted, said, table, understood
from planner.models.config import read_config
from planner.reports import commands, document, plan_report
from planner.serving import evaluate
from planner.sizing import answer as size_answer
from planner.sizing import from_trace
from planner.sizing import query as size_query
from planner.sizing import report as size_report
from planner.sizing.traces import read_trace
from planner.units import GIGA

FITS, DOES_NOT_FIT, BAD_INPUT = 0, 1, 2
MOST_GB = 1_000_000
SIZE = "size"
MOST_BYTES = 32_000_000  # of a file: a config.json or a start-up log is far smaller
NO_PLAN = ("log", "accuracy")  # pages besides those of the lesson


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments, print the plan, return the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [SIZE]:
        return _size(given[1:])
    asked = _arguments(given)
    page = page_of(asked.link)
    if page == SIZE:
        return _size([asked.link, *["--json"] * asked.json])
    if page in NO_PLAN or page in lesson.pages():
        return _refuse([f"{page}: a link of this page holds no plan"])
    if page == "compare" or comparison.is_comparison(query_of(asked.link)):
        file = asked.config or asked.log
        if file:
            return _refuse([f"{file}: a comparison has its own models"])
        return _compare(asked)
    if asked.config == asked.log == "-":
        return _refuse(["-: standard input holds one file"])
    file = asked.log
    try:
        log = _bytes(file) if file else b""
        file = asked.config
        reading = _config(asked) if file else None
        instead = {"model": reading.model.id} if reading else {}
    except (OSError, ValueError) as problem:
        return _refuse([f"{file}: {problem}"])
    read = read_link(asked.link, **instead)
    if read.problems:
        return _refuse(read.lines())
    if asked.log:
        return _log(asked, decode_log(log), instead)
    return _print(asked, read.found, notes=reading.notes if reading else ())


def _config(asked):
    """A config.json as it stands, with its weights' size and what stands beside it."""
    beside = Path(asked.config).with_name("hf_quant_config.json")
    own = asked.config != "-" and Path(asked.config) != beside and beside.is_file()
    size = round(asked.weights_gb * GIGA) if asked.weights_gb else None
    quantization = decode_log(_bytes(beside)) if own else ""
    text = decode_log(_bytes(asked.config))
    return read_config(text, file_bytes=size, quantization=quantization)


def _compare(asked):
    """Print a comparison in the form that was asked for; its exit status."""
    from planner.compare import differences
    from planner.reports import comparison_report  # with pandas, which a plan can do without

    read = comparison.read(query_of(asked.link))
    if read.problems:
        return _refuse(read.lines())
    found, all_ = read.found, differences.shown(read.found)
    if asked.json:
        _print_json(comparison_report.as_dict(found))
    elif asked.markdown:
        print(document.markdown(comparison_report.document(found)), end="")
    elif asked.csv:
        print(comparison_report.as_csv(found), end="")
    elif asked.command:
        right = [each for each in all_ if not each.mistake]
        print("\n\n".join(f"# {each.label}\n{_commands(each.evaluation)}" for each in right))
    else:
        print(document.text(comparison_report.document(found), sections=3))
    return FITS if comparison_report.fits(all_) else DOES_NOT_FIT


def _size(arguments):
    """Print the deployments that keep a promise; 0 where there is one, 1 where there is none."""
    parser = argparse.ArgumentParser(
        prog=f"python -m planner {SIZE}",
        description="Find the devices that serve a workload and keep a promise.",
        epilog="Exit status: 0 the promise is kept, 1 it is not, 2 bad input.",
    )
    parser.add_argument("link", nargs="?", default="", help="a link of the Size page, or its query")
    parser.add_argument("--json", action="store_true", help="print the flat JSON report")
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="take the load of this trace (Azure, BurstGPT, Mooncake, or a table of arrival_s, "
        "prompt_tokens and output_tokens), where the link does not say otherwise",
    )
    asked = parser.parse_args(arguments)
    try:
        query = _with_trace(query_of(asked.link), asked.trace)
    except (OSError, ValueError) as problem:
        return _refuse([f"{asked.trace}: {problem}"])
    read = size_query.read(query)
    if read.problems:
        return _refuse(read.lines())
    found = size_answer.answer(read.found)
    if asked.json:
        _print_json(size_report.as_dict(found))
    else:
        print("\n".join(size_report.lines(found, date.today())))
    return FITS if found.keeps else DOES_NOT_FIT


def _with_trace(query, name):
    """A question with what a trace says of its load; what was read of it on standard error."""
    if not name:
        return query
    trace = read_trace(_bytes(name))
    print("\n".join(from_trace.said(trace)), file=sys.stderr)
    return urlencode(from_trace.beside(trace.summary(), dict(parse_qsl(query))))


def _commands(evaluation):
    return "\n\n".join(each.script() for each in commands.of(evaluation))


def _log(asked, text, instead):
    """Plan what a start-up log speaks of; compare what can be where something must be asked for."""
    given = dict(parse_qsl(query_of(asked.link))) | instead
    given.pop("v", None)
    reading = read_log(text)
    if not reading.engine:
        return _refuse([f"{asked.log}: this is no start-up log that can be read"])
    found = plan_of_reading(reading, text, **given)
    if found.contradictions:
        return _refuse([f"{name}: {clause}" for name, clause in found.contradictions.items()])
    if not found.asked:
        return _print(asked, found.scenario, found, reading)
    _print_log(asked, found, reading)
    return _refuse(
        [f"{asked.log}: names no {name} known here; add '{name}=…'" for name in found.asked]
    )


def _print_log(asked, found: FromLog, reading):
    if asked.json:
        _print_json(_log_keys(found, reading))
    else:
        print("\n".join(_log_lines(found, reading)))


def _log_keys(found: FromLog, reading):
    return {
        "log_notes": list(found.notes),
        "log_rows": table(found.rows),
        "log_assumed": [each.text for each in found.assumed],
        "log_lines": said(reading, found),
    }


def _print_json(found):
    print(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False))


def _print(asked, scenario, log: FromLog | None = None, reading=None, notes=()):
    """Print the plan in the form that was asked for; its exit status.

    notes: what was assumed where a config.json is silent.
    """
    evaluation = evaluate(scenario)
    if asked.json:
        added = _log_keys(log, reading) if log else {}
        added |= {"config_notes": list(notes)} if asked.config else {}
        _print_json(plan_report.as_dict(evaluation) | added)
    elif asked.markdown:
        print(document.markdown(plan_report.document(evaluation)), end="")
    elif asked.csv:
        print(plan_report.as_csv(evaluation), end="")
    elif asked.command:
        print(_commands(evaluation))
    else:
        assumed = [f"assumed: {note}" for note in notes]
        logged = _log_lines(log, reading) if log else ()
        report = document.text(plan_report.document(evaluation), sections=3)
        print("\n".join([report, *assumed, *logged]))
    return FITS if evaluation.fits else DOES_NOT_FIT


def _arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m planner",
        description="Plan the serving of a language model.",
        epilog=f"{SIZE} QUERY: sizes a deployment instead (see {SIZE} --help). "
        "Exit status: 0 it fits, 1 it does not fit, 2 bad input.",
    )
    parser.add_argument("link", nargs="?", default="", help="a link of a page, or its query")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--config", metavar="FILE", help="plan the model of this config.json (-: standard input)"
    )
    parser.add_argument(
        "--log", metavar="FILE", help="plan what this start-up log speaks of (-: standard input)"
    )
    parser.add_argument(
        "--weights-gb",
        type=_gigabytes,
        metavar="GB",
        help="size of the model's weight files, with --config; exact for any quantisation",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the flat JSON report")
    form.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    form.add_argument("--csv", action="store_true", help="print every number as CSV")
    form.add_argument("--command", action="store_true", help="print the engines' start commands")
    return parser.parse_args(arguments)


def _gigabytes(text):
    """A size in GB that weights can have."""
    try:
        size = float(text)
    except ValueError:
        size = 0
    if not 0 < size < MOST_GB:
        raise argparse.ArgumentTypeError(f"“{text}” is no size of 0 to {MOST_GB:,} GB")
    return size


def _bytes(name):
    """A file's bytes; those of standard input where it is called “-”. ValueError: too many."""
    if name == "-" and sys.stdin is None:
        raise ValueError("standard input is closed")
    with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes, which no such file has")
    return found


def _refuse(problems):
    """Say what is wrong, a line each; what was typed must not steer the terminal."""
    lines = ("".join(map(_printable, each)) for each in problems)
    print("\n".join(lines), file=sys.stderr)
    return BAD_INPUT


def _printable(sign):
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode()


def _log_lines(found: FromLog, reading):
    """What a log printed against what was predicted, and what was taken for granted."""
    compared = table(found.rows)
    if compared:
        yield "\npredicted against printed"
    for row in compared:
        off = f" ({row['off (%)']} %)" if row["off (%)"] else ""
        assumed = f" [assumed: {row['assumed']}]" if row["assumed"] else ""
        unit = row["unit"] if row["printed"][:1].isdigit() else ""
        yield (
            f"{row['quantity']}: {row['predicted']} predicted, "
            f"{' '.join(filter(None, (row['printed'], 'printed', unit)))}{off}{assumed}"
        )
    yield f"\n{counted(reading, found)}"
    yield from (
        f"line {each.line}: {each.figure} {each.value}" for each in understood(reading, found)
    )
    yield ""
    yield from found.notes
    yield from (f"Assumed: {each.text}." for each in found.assumed)


def run(arguments: list[str] | None = None) -> int:
    """`main` with its output written out; any error at all is one sentence and bad input.

    The status of an error must never be that of a plan that does not fit.
    """
    try:
        status = main(arguments)
        sys.stdout.flush()
    except OSError as problem:  # a disk that is full
        return _refuse([f"standard output: {problem}"])
    except KeyboardInterrupt:
        return _refuse(["Interrupted."])
    except Exception as problem:
        text = " ".join(str(problem).split())
        return _refuse([f"This could not be worked out: {type(problem).__name__}: {text}"])
    return status


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # a reader that has read enough is no error
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (as long as the program)
    if sys.stdout is None:
        sys.exit(_refuse(["standard output is closed"]))
    # Elsewhere than on a screen, Windows writes in an alphabet that has neither − nor ∞.
    sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(run())
