"""One HTML file in which a character is steered: the model and the C core, compiled to WebAssembly, are in it."""

import os
from importlib.resources import files

import numpy as np

from ..control import _Legs
from ..motion_model import BINS, MotionModel
from ..skeleton import Clip
from ..synthesis import Synthesis, _past
from .page import base64_of, clip_geometry, feet_of, write_html

__all__ = ["demo_model", "start_of", "write_play_page"]

FASTEST = 5.0  # m/s that a page offers for a jog


def demo_model() -> MotionModel:
    """The small model that ships with the package, learnt from made clips (`pfnnc.data.make_demo_model`)."""
    from ..data.make_demo_model import DEMO_MODEL

    return MotionModel.load(DEMO_MODEL)


def start_of(model: MotionModel) -> tuple[Clip, float]:
    """Where the page's character begins: a second of the mean motion seen in training, up to phase 0, at the origin;
    and the phase of its last frame."""
    count = max(model.input_len, round(model.fps))
    phase = (1 - np.arange(count)[::-1] * model.cadence / model.fps + 1) % 1.0
    rows = model.frames[(phase * BINS).astype(int) % BINS]
    place = np.cumsum(rows[:, :3], axis=0) / model.fps
    place -= place[-1]
    place[:, 1] = rows[:, model.spec.slices["height"].start] if model.spec.height else model.skeleton.offsets[0, 1]
    still = np.zeros(count)
    shown = Synthesis(rows, place, np.zeros((count, 3)), phase, still, model.spec, model.rest)
    return shown.to_clip(model.skeleton, model.fps), float(phase[-1])


def write_play_page(path: str | os.PathLike, model: MotionModel | None = None, *, heading: str = "pfnnc play") -> None:
    """Write a self-contained page in which a character is steered with keys, gamepad and mouse.

    ``model``: one with a trajectory (preset "controller"); None: the `demo_model`. ``heading``: the page's title.

    The page runs `pfnnc.Controller`'s steps in the C core, compiled to WebAssembly; it loads nothing and needs no
    server. ``ValueError`` for a model that cannot be steered, ``TypeError`` for no model, ``OSError`` where the file
    cannot be written; it is written whole or not at all.
    """
    if model is None:
        model = demo_model()
    if not isinstance(model, MotionModel):
        raise TypeError(f"model must be a MotionModel, got {type(model).__name__}")
    if not isinstance(heading, str):
        raise TypeError(f"heading must be a string, got {type(heading).__name__}")
    parts = {"styles": ("page.css", "play.css"), "scripts": ("scene.js", "player.js", "play.js")}
    write_html(path, "play.html", heading, page_data(model, heading), **parts, policy="'wasm-unsafe-eval'")


def page_data(model: MotionModel, title: str) -> dict:
    """What the page needs of a model."""
    if model.spec.control is None:
        raise ValueError(f"model has no trajectory to be steered by: preset {model.preset!r} trains without; use 'controller'")
    clip, phase = start_of(model)
    points, bones, size, floor = clip_geometry(clip)
    walk, jog = speeds_of(model)
    return {
        "title": title,
        "figure": {
            "count": points.shape[1],
            "bones": [list(bone) for bone in bones],
            "size": size,
            "floor": floor,
            "feet": feet_of(clip, 0, None),
        },
        "frame": 1 / model.fps,
        "times": list(model.spec.control.times),
        "contacts": bool(model.spec.contacts),
        "speeds": {"least": min(0.4, walk), "walk": walk, "jog": jog},
        "legs": legs_of(model),
        "start": base64_of(start_numbers(model, clip, phase), "<f8"),
        "model": base64_of(np.frombuffer(model.to_bytes(), np.uint8), "|u1"),
        "wasm": base64_of(np.frombuffer(files(__package__).joinpath("player.wasm").read_bytes(), np.uint8), "|u1"),
    }


def start_numbers(model: MotionModel, clip: Clip, phase: float) -> np.ndarray:
    """A start as ``player_open`` of csrc/wasm/player.c takes it: phase, place, yaw, the past, the window."""
    window, phase, origin, yaw = model._start(clip, phase)
    window = np.asarray(window[None], np.float64)
    history = int(np.ceil(max(0.0, *(-time * model.fps for time in model.spec.control.times))))
    past = _past(window, model.spec, origin[None].copy(), np.array([yaw]), 1 / model.fps, history)
    return np.concatenate([[phase], origin, [yaw], past.ravel(), window[:, -model.input_len :].ravel()])


def legs_of(model: MotionModel) -> list[list[float]]:
    """Hip, knee, ankle, sole and the point that touches the ground, of each leg; none where they are not known."""
    if not model.spec.contacts:
        return []
    try:
        legs = _Legs(model.skeleton, model.feet)
    except ValueError:
        return []
    return np.concatenate([legs.legs, legs.soles], axis=1).tolist()


def speeds_of(model: MotionModel) -> tuple[float, float]:
    """Ground speeds, m/s, that keys ask for: a walk as most of the training was, and nearly the fastest of it."""
    order = np.argsort(model.paces[:, 0])
    speeds, weight = model.paces[order, 0], np.cumsum(model.paces[order, -1])
    moving = speeds > 0.4
    if not moving.any():
        return 1.2, 2.0
    speeds, weight = speeds[moving], weight[moving] - weight[moving][0]
    walk, jog = (float(np.interp(share * weight[-1], weight, speeds)) for share in (0.5, 0.95))
    return round(min(walk, 1.4), 2), round(min(max(jog, walk), FASTEST), 2)
