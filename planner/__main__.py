"""python -m planner: a plan or a comparison in the terminal, for people and for pipelines.

Exit status: 0 it fits (a comparison: every plan without a deliberate error), 1 it does not, 2 bad
input, with every problem on standard error.
"""

import argparse
import json
import signal
import sys
from urllib.parse import parse_qsl

from planner import __version__
from planner.compare import comparison
from planner.inputs.strict import page_of, query_of, read_link
from planner.lesson import words as lesson
from planner.logs import identify
from planner.logs.from_log import FromLog, knows_model, plan_of_reading, table
from planner.logs.parse import read_log
from planner.models.config import read_config
from planner.reports import commands, document, plan_report
from planner.serving import evaluate

FITS, DOES_NOT_FIT, BAD_INPUT = 0, 1, 2
NO_PLAN = ("log", "accuracy")  # pages besides those of the lesson
WITH_LOG = ("model", "device", "weights")  # what a link may add to a log


def main(arguments: list[str] | None = None) -> int:
    """Read the arguments, print the plan, return the exit status."""
    asked = _arguments(arguments)
    file = asked.config or asked.log
    page = page_of(asked.link)
    if page in NO_PLAN or page in lesson.pages():
        return _refuse([f"{page}: a link of this page holds no plan"])
    if page == "compare" or comparison.is_comparison(query_of(asked.link)):
        if file:
            return _refuse([f"{file}: a comparison has its own models"])
        return _compare(asked)
    try:
        text = _text(file) if file else ""
        instead = {"model": read_config(text).model.id} if asked.config else {}
    except (OSError, ValueError) as problem:
        return _refuse([f"{file}: {problem}"])
    read = read_link(asked.link, **instead)
    if read.problems:
        return _refuse(read.lines())
    if asked.log:
        return _log(asked, text)
    return _print(asked, read.found, None)


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


def _commands(evaluation):
    return "\n\n".join(each.script() for each in commands.of(evaluation))


def _log(asked, text):
    """Plan what a start-up log speaks of. Without its model and device, compare what can be."""
    given = dict(parse_qsl(query_of(asked.link)))
    wrong = [f"{name}: a log says this itself" for name in given if name not in WITH_LOG]
    reading = read_log(text)
    if wrong or not reading.engine:
        return _refuse(wrong or [f"{asked.log}: this is no start-up log that can be read"])
    found = plan_of_reading(reading, text, **given)
    known = {
        "model": knows_model(reading, given.get("model", "")),
        "device": given.get("device") or identify.device(reading, text, []),
    }
    missing = [name for name, value in known.items() if not value]
    if not missing:
        return _print(asked, found.scenario, found)
    _print_log(asked, found)
    return _refuse([f"{asked.log}: names no {name} known here; add '{name}=…'" for name in missing])


def _print_log(asked, found: FromLog):
    compared = table(found.rows)
    if asked.json:
        _print_json({"log_notes": list(found.notes), "log_rows": compared})
    else:
        print("\n".join(_log_lines(found.notes, compared)))


def _print_json(found):
    print(json.dumps(found, indent=2, allow_nan=False, ensure_ascii=False))


def _print(asked, scenario, log: FromLog | None):
    """Print the plan in the form that was asked for; its exit status."""
    evaluation = evaluate(scenario)
    compared = table(log.rows) if log else []
    if asked.json:
        added = {"log_notes": list(log.notes), "log_rows": compared} if log else {}
        _print_json(plan_report.as_dict(evaluation) | added)
    elif asked.markdown:
        print(document.markdown(plan_report.document(evaluation)), end="")
    elif asked.csv:
        print(plan_report.as_csv(evaluation), end="")
    elif asked.command:
        print(_commands(evaluation))
    else:
        lines = _log_lines(log.notes if log else (), compared)
        print("\n".join([document.text(plan_report.document(evaluation), sections=2), *lines]))
    return FITS if evaluation.fits else DOES_NOT_FIT


def _arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m planner",
        description="Plan the serving of a language model.",
        epilog="Exit status: 0 it fits, 1 it does not fit, 2 bad input.",
    )
    parser.add_argument("link", nargs="?", default="", help="a link of a page, or its query")
    parser.add_argument("--version", action="version", version=__version__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--config", metavar="FILE", help="plan the model of this config.json (-: standard input)"
    )
    source.add_argument(
        "--log", metavar="FILE", help="plan what this start-up log speaks of (-: standard input)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the flat JSON report")
    form.add_argument("--markdown", action="store_true", help="print the report as Markdown")
    form.add_argument("--csv", action="store_true", help="print every number as CSV")
    form.add_argument("--command", action="store_true", help="print the engines' start commands")
    return parser.parse_args(arguments)


def _text(name):
    """A file's text; standard input where it is called “-”."""
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


def _refuse(problems):
    print("\n".join(problems), file=sys.stderr)
    return BAD_INPUT


def _log_lines(notes, compared):
    """What a log printed against what was predicted."""
    if compared:
        yield "\npredicted against printed"
    for row in compared:
        yield (
            f"{row['quantity']}: {row['predicted']} predicted, {row['printed']} printed "
            f"{row['unit']} ({row['off (%)']} %)"
        )
    yield from notes


def run(arguments: list[str] | None = None) -> int:
    """`main` with its output written out; any error at all is one sentence and bad input.

    The status of an error must never be that of a plan that does not fit.
    """
    try:
        status = main(arguments)
        sys.stdout.flush()
    except OSError as problem:  # a disk that is full
        return _refuse([f"standard output: {problem}"])
    except Exception as problem:
        text = " ".join(str(problem).split())
        return _refuse([f"This could not be worked out: {type(problem).__name__}: {text}"])
    return status


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # a reader that has read enough is no error
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Elsewhere than on a screen, Windows writes in an alphabet that has neither − nor ∞.
    sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(run())
