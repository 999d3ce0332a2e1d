"""``pfnnc compare``: does anybody see the difference between the network and a blend tree?"""

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np

from ._files import read_whole, written_whole
from .blendtree import BlendTree
from .cli_model import at_rate, first_window, frames_of, gather, led
from .cli_read import Failure, Reading, add_reading, count, find_files, new_file, note, positive, read_model, wrote
from .phase import find_cycles
from .rotation import quat_yaw
from .skeleton import Clip

QUESTION = "which motion looks more natural?"
METHODS = ("network", "blend tree")
MOST_BYTES = 1 << 28  # of a file of votes


def add_commands(commands) -> None:
    compare = commands.add_parser(
        "compare", help="a blind test: network against blend tree", description=compare_methods.__doc__
    )
    compare.add_argument(
        "paths", nargs="+", metavar="PATH", help="a trained folder, then clips to follow; or with --count the key, then votes"
    )
    compare.add_argument("-o", "--output", metavar="PAGE.html", default="blind.html", help="default: blind.html")
    compare.add_argument("--key", metavar="FILE.json", help="where the key goes (default: PAGE.key.json)")
    compare.add_argument("--trials", type=count, default=6, help="how many pairs to show (default 6)")
    compare.add_argument("--seconds", type=positive, default=6.0, help="of each pair (default 6)")
    compare.add_argument("--seed", type=count, help="of the order (default: fresh)")
    compare.add_argument("--count", action="store_true", help="count votes: pfnnc compare --count KEY.json VOTES.json ...")
    compare.add_argument("--force", action="store_true", help="write over files that exist")
    add_reading(compare)
    compare.set_defaults(run=compare_methods)


def compare_methods(args: argparse.Namespace) -> None:
    """Make a page that shows the network and a blend tree of the clips it learnt from on the same paths, as A and B in
    random order, and takes votes. The key is a file of its own: keep it from those who vote. With --count, count votes
    by the key."""
    if args.count:
        return count_votes(args.paths[0], args.paths[1:])
    from .viewer import write_trials

    trained = read_model(args.paths[0])
    page = new_file(args.output, args.force, args.paths)
    key_file = new_file(args.key or page.with_suffix(".key.json"), args.force, [*args.paths, page])
    sources = [path for path in trained.clips if path.exists()]
    if not sources:
        raise Failure("the clips that the model learnt from are not there: a blend tree needs them")
    takes, _ = gather(sources, trained.reading, trained.model.fps, trained.phases, trained.phase_unit)
    tree = _tree_of(takes)
    targets = find_files(args.paths[1:] or [p for p in trained.held_out if p.exists()])
    if not targets:
        raise Failure("name clips to follow: none was held out in training")
    rng = np.random.default_rng(args.seed)
    if not args.trials:
        raise Failure("--trials 0: expected at least one pair to show")
    pairs = list(_pairs(trained, tree, targets, Reading.of(args), args.seconds, args.trials))
    if not pairs:
        raise Failure("no clip is long enough; try fewer --seconds")
    order = [(n % 2, 1 - n % 2) for n in rng.permutation(len(pairs))]  # each method stands on each side as often
    test = rng.bytes(6).hex()
    trials = [[pair[i] for i in shown] for (_, pair), shown in zip(pairs, order, strict=True)]
    write_trials(page, trials, test=test, question=QUESTION)
    key = {
        "test": test,
        "trials": [{"target": name, "A": METHODS[a], "B": METHODS[b]} for (name, _), (a, b) in zip(pairs, order, strict=True)],
    }
    with written_whole(key_file, "w", encoding="utf-8") as file:
        json.dump(key, file, indent=1)
    wrote(page)
    wrote(key_file)
    print(f"{len(pairs)} pairs; when the votes are back: pfnnc compare --count {key_file} votes.json ...")


def _tree_of(takes) -> BlendTree:
    """Of the clips that have a whole cycle; which have none is told."""
    whole = []
    for take in takes:
        if len(find_cycles(take.phase)):
            whole.append(take)
        else:
            note(f"note: {take.path.name} has no whole gait cycle and is no part of the blend tree")
    if not whole:
        raise Failure("no clip that the model learnt from has a whole gait cycle: there is nothing to blend")
    return BlendTree([take.clip for take in whole], [take.phase for take in whole])


def _pairs(trained, tree: BlendTree, targets, reading: Reading, seconds: float, most: int):
    """(name, (network, blend tree)) of windows of the targets, in turn."""
    model, left = trained.model, most
    frames = frames_of(seconds, model.fps)
    loaded = [(path, *at_rate(trained, path, reading)) for path in targets]
    places = [first_window(model, phase) for _, _, phase in loaded]
    going = True
    while left and going:
        going = False
        for i, (path, clip, phase) in enumerate(loaded):
            start = places[i]
            while start + frames <= len(clip) and not np.isfinite(phase[start - 1]):
                start += 1
            if start + frames > len(clip) or not left:
                continue
            places[i], going, left = start + frames, True, left - 1
            name = f"{path.name} from {start / model.fps:.2f} s"
            yield name, (led(model, clip, phase, start, frames), follow(tree, clip, phase, start, frames))


def follow(tree: BlendTree, clip: Clip, phase: np.ndarray, start: int, frames: int) -> Clip:
    """The blend tree along the path of a clip, at its speed and turn, each the mean over a second about the frame.

    Where its clips turn or walk too slowly for that, the root is warped: both methods do the same motion.
    """
    half = max(1, round(0.5 * clip.fps))
    path = np.linalg.norm(np.diff(clip.root_positions[:, [0, 2]], axis=0), axis=1)
    yaw = np.unwrap(quat_yaw(clip.rotations[:, 0]))
    travelled = np.r_[0.0, np.cumsum(path)]
    now = np.arange(start, start + frames)
    a, b = np.maximum(now - half, 0), np.minimum(now + half, len(clip) - 1)
    span = (b - a) / clip.fps
    speed, turn = (travelled[b] - travelled[a]) / span, (yaw[b] - yaw[a]) / span
    origin = clip.root_positions[start] * [1, 0, 1]
    heading = float(yaw[a[0] : b[0] + 1].mean())
    begun = float(phase[start - 1])
    return tree.synthesize(speed, turn, fps=clip.fps, phase=begun, origin=origin, yaw=heading, warp=True).clip


def count_votes(key_path: str, vote_paths: list[str]) -> None:
    """Who won, trial by trial and in all, with the chance of so clear a result by tossing coins."""
    key = _json(key_path)
    if not vote_paths:
        raise Failure("name the files of votes after the key")
    try:
        test, targets = key["test"], [trial["target"] for trial in key["trials"]]
        meanings = [{"A": trial["A"], "B": trial["B"], "same": "no difference"} for trial in key["trials"]]
    except (TypeError, KeyError):
        raise Failure(f"{key_path}: this is no key of `pfnnc compare`") from None
    by_trial: list[Counter[str]] = [Counter() for _ in targets]
    files = {Path(path).resolve(): path for path in vote_paths}  # a file named twice counts once
    for path in files.values():
        for trial, choice in _votes(path, test, len(targets)).items():
            by_trial[trial][meanings[trial][choice]] += 1
    for target, votes in zip(targets, by_trial, strict=True):
        print(f"{target}: {_tally(votes)}")
    total = sum(by_trial, Counter())
    print(f"in all, {len(files)} voter{'' if len(files) == 1 else 's'}: {_tally(total)}")
    wins = [total[name] for name in METHODS]
    print(f"chance of a result as clear as this between equals: {sign_test(*wins):.3f}")


def _votes(path: str, test: str, trials: int) -> dict[int, str]:
    """What one person chose, by trial from 0; the last choice where a trial was voted on twice."""
    given = _json(path)
    try:
        if given["test"] != test:
            raise Failure(f"{path}: these votes are of another test")
        votes = {vote["trial"] - 1: vote["choice"] for vote in given["votes"]}
        if all(trial in range(trials) and choice in ("A", "B", "same") for trial, choice in votes.items()):
            return votes
    except (TypeError, KeyError):
        pass
    raise Failure(f"{path}: these are no votes of `pfnnc compare`")


def _tally(votes: Counter[str]) -> str:
    return ", ".join(f"{name} {votes[name]}" for name in (*METHODS, "no difference"))


def sign_test(a: int, b: int) -> float:
    """Two-sided probability that so many of a + b tosses of a fair coin fall on one side.

    >>> sign_test(5, 5), sign_test(10, 0)
    (1.0, 0.001953125)
    """
    n, k = a + b, max(a, b)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n)


def _json(path: str):
    try:
        return json.loads(read_whole(path, MOST_BYTES))
    except ValueError:
        raise Failure(f"{path}: this is no JSON file") from None
