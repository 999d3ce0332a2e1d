"""The command line: ``pfnnc COMMAND ...``. Each command stands in a ``cli_*`` module; here is what they share.

Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage, 130 stopped by Ctrl-C.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from . import __version__, cli_compare, cli_demo, cli_export, cli_look, cli_model, cli_play
from .cli_read import Failure

EXAMPLES = """\
pfnnc demo                                   everything, on clips that are made: no file needed
pfnnc inspect walk.bvh                       what a recording is, and how it should be read
pfnnc train clips/ -o out/                   learn a character
pfnnc synth out/ -o new.bvh --seconds 20     let it walk
pfnnc eval out/                              its report
pfnnc view new.bvh recording.bvh -o a.html   look at two motions side by side
pfnnc play out/                              a page in which the character is steered
"""


class Command(argparse.ArgumentParser):
    """A command's parser: files may stand behind options (``-o OUT CLIP``), and what is wrong shows the command's usage."""

    _inside = False  # the pass for intermixed arguments calls parse_known_args itself

    def parse_known_args(self, args=None, namespace=None):
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            namespace, rest = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return namespace, rest


def make_parser() -> argparse.ArgumentParser:
    """The parser with every command that there is."""
    parser = argparse.ArgumentParser(
        prog="pfnnc",
        description="Data-driven character animation: BVH clips to a walking character.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pfnnc {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where in the program an error came from")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Command)
    for module in (cli_demo, cli_look, cli_model, cli_play, cli_compare, cli_export):
        module.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    args = make_parser().parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        print("\npfnnc: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Failure, OSError, ValueError, TypeError, ArithmeticError, MemoryError) as error:
        if args.traceback:
            traceback.print_exc()
        print(f"pfnnc: {_in_a_line(error)}", file=sys.stderr)
        return 1


def _in_a_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "out of memory"
    return " ".join(str(error).split()) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
