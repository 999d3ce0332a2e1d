"""``pfnnc play``: a page in which a character is steered."""

import argparse
from pathlib import Path

from .cli_read import new_file, read_model, wrote


def add_commands(commands) -> None:
    play = commands.add_parser("play", help="a page in which a character is steered", description=play_model.__doc__)
    play.add_argument(
        "model", nargs="?", metavar="MODEL", help="a trained folder or file; default: a small model of made clips"
    )
    play.add_argument("-o", "--output", metavar="PAGE.html", default="play.html", help="default: play.html")
    play.add_argument("--force", action="store_true", help="write over a page that exists")
    play.set_defaults(run=play_model)


def play_model(args: argparse.Namespace) -> None:
    """Write one self-contained HTML page in which a character goes where keys, mouse and gamepad send it. Weights and
    the core, compiled to WebAssembly, are inside: it needs no server and no other file."""
    from .viewer import write_play_page

    model, inputs = None, []
    if args.model is not None:
        model, path = read_model(args.model).model, Path(args.model)
        inputs = [path] if path.is_file() else sorted(path.iterdir())
    target = new_file(args.output, args.force, inputs)
    heading = "pfnnc play" if args.model is None else f"pfnnc play: {Path(args.model).resolve().stem}"
    write_play_page(target, model, heading=heading)
    wrote(target)
