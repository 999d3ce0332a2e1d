"""Scene files: a whole training run in one TOML text (``pfnnc train scene.toml``).

::

    [clips]
    files = ["walks/*.bvh", "turn.bvh"]   # required; paths and patterns, relative to the scene file
    hold_out = ["walk_07"]                # names of clips that are not trained on
    scale = 0.01                          # how the files are read: options of `load_bvh`
    up = "y"
    fps = 60
    root = "Hips"
    positions = "replace"
    feet = ["LeftFoot", "RightFoot"]      # where names do not tell
    rate = 30                             # frames a second of the model
    phases = "auto"                       # or "beside": .phase files beside the clips
    phase_unit = "cycle"                  # or "pi"

    [features]                            # options of `FeatureSpec`, and
    joints = "moving"                     # "moving", "all", a count, or names
    times = [0.33, 0.67, 1.0]             # seconds of the wanted trajectory, [] for none
    normalize = "all"                     # or "velocity"
    legs = true                           # leg points and contacts among the features

    [windows]
    input_len = 2
    output_len = 16
    stride = 3
    scales = [0.87, 1.0, 1.13]            # speeds at which every clip is played
    mirror = true

    [model]                               # options of `SimplifiedPFNN`: hidden, n_kernels, beta, kernel, activation, init
    hidden = 128

    [training]
    preset = "controller"                 # or "article": what is not said here is as it has it
    epochs = 20
    max_seconds = 600
    seed = 0                              # and the options of `Trainer`: lr, rollout, noise, contact_weight, ...

    [output]
    folder = "out"                        # relative to the scene file
    checkpoint = true                     # keep checkpoint.pfnnc there and resume from it

Every key but ``clips.files`` may be left out, and is then as the preset has it: the values above are examples, not a recipe.
A key that does not exist, or a value that is wrong, is an error that
names the file and the key.
"""

import difflib
import glob
import inspect
import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import _check, _recipes
from ._files import read_whole
from .features import FeatureSpec
from .training import Trainer, _checked
from .trajectory import Trajectory

__all__ = ["Scene", "load_scene"]

MOST_BYTES = 1 << 24  # of a scene file
READING = ("scale", "up", "fps", "root", "positions", "feet")
FEATURES = ("representation", "frame", "yaw_rate", "height", "points", "contacts", "phase_step", "predict")
WINDOWS = ("input_len", "output_len", "stride", "scales", "mirror")
MODEL = ("hidden", "n_kernels", "beta", "kernel", "activation", "init")
NOT_FOR_SCENES = ("model", "skeleton", "feet", "spec", "normalizer", "fps", "avg_stride", "t_max", "seed")
TRAINING = tuple(name for name in inspect.signature(Trainer).parameters if name not in NOT_FOR_SCENES)

KEYS = {
    "clips": ("files", "hold_out", *READING, "rate", "phases", "phase_unit"),
    "features": ("joints", *FEATURES, "times", "normalize", "legs"),
    "windows": WINDOWS,
    "model": MODEL,
    "training": ("preset", "epochs", "max_seconds", "seed", *TRAINING),
    "output": ("folder", "checkpoint"),
}


@dataclass(frozen=True)
class Scene:
    """What a scene file says, checked. ``files`` exist; None stands for what it leaves to the preset or the clips.

    ``options`` are those of `MotionModel.train` by name; ``reading`` those of `load_bvh`, and ``feet``.
    """

    path: Path
    files: tuple[Path, ...]
    hold_out: tuple[str, ...] = ()
    reading: dict = field(default_factory=dict)
    rate: float = 30.0
    phases: str = "auto"
    phase_unit: str = "cycle"
    preset: str = "controller"
    epochs: int | None = None
    max_seconds: float | None = None
    seed: int = 0
    options: dict = field(default_factory=dict)
    folder: Path | None = None
    checkpoint: bool = False

    def resolved(self) -> dict:
        """The scene with its files found, as JSON can hold it."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("path", "files", "folder")}
        folder = None if self.folder is None else str(self.folder)
        return {"path": str(self.path), "files": [str(file) for file in self.files], **_plain(told), "folder": folder}


def load_scene(path: str | os.PathLike) -> Scene:
    """Read a scene file; see the schema on top of this module.

    ``FileNotFoundError`` for the file itself; ``ValueError`` and ``TypeError`` naming file and key for everything in it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scene = pathlib.Path(folder, "scene.toml")
    ...     _ = scene.with_name("walk.bvh").write_text("HIERARCHY")
    ...     _ = scene.write_text('clips.files = ["*.bvh"]\\n[model]\\nhidden = 64')
    ...     load_scene(scene).options
    {'hidden': 64}
    """
    path = Path(path)
    data = read_whole(path, MOST_BYTES)
    try:
        tables = tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    return _Reader(path, tables).scene()


class _Reader:
    """Takes keys out of the tables, each checked, with errors that name file and key."""

    def __init__(self, path: Path, tables: dict):
        self.path, self.tables = path, tables
        self._check_keys()

    def _check_keys(self) -> None:
        for table, content in self.tables.items():
            if table not in KEYS:
                raise ValueError(f"{self.path}: {table} is no table of a scene{_meant(table, KEYS)}")
            if not isinstance(content, dict):
                raise TypeError(f"{self.path}: {table} must be a table, got {content!r}")
            for key in content:
                if key not in KEYS[table]:
                    raise ValueError(f"{self.path}: {table}.{key} is no key of a scene{_meant(key, KEYS[table])}")

    def get(self, table: str, key: str, check: Callable, default=None):
        """A key's value through ``check(value, key)``."""
        content = self.tables.get(table, {})
        if key not in content:
            return default
        return self._named(table, lambda: check(content[key], key))

    def _named(self, table: str, call: Callable):
        try:
            return call()
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self.path}: {table}.{error}") from None

    def scene(self) -> Scene:
        """The scene; everything is looked at before anything is trained."""
        files = self._files(self.get("clips", "files", _strings))
        known = {file.stem.removesuffix(".bvh") for file in files} | {file.name for file in files}
        hold_out = self.get("clips", "hold_out", _strings, ())
        for i, name in enumerate(hold_out):
            if name not in known:
                raise ValueError(f"{self.path}: clips.hold_out[{i}]={name!r} is none of the files{_meant(name, known)}")
        folder = self.get("output", "folder", _text)
        return Scene(
            path=self.path,
            files=files,
            hold_out=hold_out,
            reading=self._reading(),
            rate=self.get("clips", "rate", _positive, 30.0),
            phases=self.get("clips", "phases", _option("auto", "beside"), "auto"),
            phase_unit=self.get("clips", "phase_unit", _option("cycle", "pi"), "cycle"),
            preset=self.get("training", "preset", _option(*_recipes.PRESETS), "controller"),
            epochs=self.get("training", "epochs", _count),
            max_seconds=self.get("training", "max_seconds", lambda v, name: _check.number(v, name, least=0)),
            seed=self.get("training", "seed", _count, 0),
            options=self._options(),
            folder=None if folder is None else self.path.parent / folder,
            checkpoint=self.get("output", "checkpoint", _check.flag, False),
        )

    def _files(self, patterns: tuple[str, ...] | None) -> tuple[Path, ...]:
        if patterns is None:
            raise ValueError(f"{self.path}: clips.files is missing: a list of BVH files or patterns")
        if not patterns:
            raise ValueError(f"{self.path}: clips.files must hold at least one file or pattern, got none")
        files: dict[Path, None] = {}
        for i, pattern in enumerate(patterns):
            found = sorted(glob.glob(str(self.path.parent / pattern), recursive=True))
            if not found:
                raise ValueError(f"{self.path}: clips.files[{i}]={pattern!r} is no file and matches none")
            files.update(dict.fromkeys(Path(file) for file in found))
        return tuple(files)

    def _reading(self) -> dict:
        checks = {
            "scale": _positive,
            "up": _option("y", "z"),
            "fps": _positive,
            "root": _text,
            "positions": _option("replace", "add"),
            "feet": _pair,
        }
        told = {name: self.get("clips", name, check) for name, check in checks.items()}
        return {name: value for name, value in told.items() if value is not None}

    def _options(self) -> dict:
        """Options of `MotionModel.train`, tried on what they are for."""
        features, windows, model, training = (
            dict(self.tables.get(t, {})) for t in ("features", "windows", "model", "training")
        )
        preset = self.get("training", "preset", _option(*_recipes.PRESETS), "controller")
        for name in ("preset", "epochs", "max_seconds", "seed"):
            training.pop(name, None)
        for table, options in (("features", features), ("windows", windows), ("model", model), ("training", training)):
            self._named(table, lambda options=options: _recipes.recipe_of(preset, options))
        self._named("features", lambda: FeatureSpec(1, **{k: v for k, v in features.items() if k in FEATURES}))
        if features.get("times"):
            self._named("features", lambda: Trajectory(tuple(features["times"])))
        if isinstance(features.get("joints"), list):
            self.get("features", "joints", _strings)
        self.get("model", "kernel", _option("rbf", "cyclic", "catmull_rom"))
        self.get("model", "activation", _option("relu", "elu"))
        self.get("model", "init", _option("article", "he"))
        self.get("model", "beta", _positive)
        defaults = {name: parameter.default for name, parameter in inspect.signature(Trainer).parameters.items()}
        self._named("training", lambda: _checked({**defaults, **training}))
        return features | windows | model | training


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _meant(name: str, known) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else f", there are {', '.join(sorted(known))}"


def _text(value, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not value:
        raise ValueError(f"{name} must not be empty")
    return value


def _strings(value, name: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list of strings, got {value!r}")
    return tuple(_text(item, f"{name}[{i}]") for i, item in enumerate(value))


def _pair(value, name: str) -> tuple[str, ...]:
    names = _strings(value, name)
    if len(names) != 2:
        raise ValueError(f"{name} must be two names, left and right, got {len(names)}")
    return names


def _positive(value, name: str) -> float:
    return _check.number(value, name, above=0)


def _count(value, name: str) -> int:
    return _check.integer(value, name, least=0)


def _option(*choices: str) -> Callable:
    return lambda value, name: _check.option(value, name, choices)
