"""Data sets that outgrow memory: a folder of recordings becomes a folder of memory-mapped arrays and a manifest."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import _augment, _check, _split
from ._files import written_whole
from ._progress import Progress
from ._threads import get_num_threads
from .bvh import load_with_notes
from .dataset import WindowDataset, float_type
from .features import FeatureSpec
from .normalizer import Normalizer, chunks
from .phase_label import label_phase
from .rotation import quat_yaw
from .skeleton import Clip, Skeleton
from .trajectory import path_track
from .windows import window_sizes

__all__ = ["build_dataset", "open_dataset"]

FORMAT = 2
MANIFEST = "manifest.json"
ARRAYS = "clips"
UNITS = {"length": "m", "time": "s", "angle": "rad", "phase": "cycles"}
IN_FLIGHT = 64  # recordings handed to the executor at a time
OURS = re.compile(r"\.?[\w.-]{1,48}-[0-9a-f]{16}\.(json|(\d+\.)?(rows|phase|track|marks)\.npy)(\.\w+\.part)?")


def build_dataset(
    folder: str | os.PathLike | Iterable[str | os.PathLike],
    spec: FeatureSpec,
    out: str | os.PathLike,
    *,
    executor: Executor | None = None,
    load: dict | Callable | None = None,
    label: Callable | None = None,
    rate: float = 30.0,
    dtype=np.float32,
    force: bool = False,
    progress: bool | None = None,
) -> dict:
    """Label and encode recordings into a folder that `open_dataset` trains from. Returns the manifest.

    Parameters
    ----------
    folder
        A folder, of which the files ``*.bvh`` and ``*.bvh.gz`` are taken, or the paths of recordings.
    spec
        The `FeatureSpec` to encode with.
    out
        The folder to write, made where it is not there: ``manifest.json`` and arrays in ``clips``. One build at a time.
    executor
        Any `concurrent.futures.Executor`: threads, processes, or the machines of a cluster that share the folders
        (dask's ``Client.get_executor()``). None: as many threads as `get_num_threads` tells.
    load
        Options of `load_bvh` for every file, or a function of the path that returns a `Clip`, or (clip, labels).
    label
        A function of a clip that returns its phase (T,) or `Labels`. None: `label_phase`. For processes both functions
        have to be importable, so no lambdas.
    rate
        Frames a second of the data set; recordings are labelled as they are, then brought to it.
    dtype
        float32 or float64, of the rows.
    force
        Do everything again. Else a recording whose bytes, settings and package version are those of an earlier
        build is taken from there, also after an interruption. (A change inside the functions is not noticed.)
    progress
        Show a bar: True, False, or None for "on a terminal, if it takes long".

    The manifest tells for every recording its hash, rate, frames, frames without a phase, or why it was dropped (it
    cannot be read, lacks the spec's joints, has no phase anywhere); a ``UserWarning`` counts the dropped ones. It
    holds the spec, units, versions, skeletons, a checksum of every array, and which recordings show the same motion.
    It is written last, in one piece; arrays that it does not name are then removed. ``ValueError`` where nothing
    is left.
    """
    if not isinstance(spec, FeatureSpec):
        raise TypeError(f"spec must be a FeatureSpec, got {type(spec).__name__}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
    for function, name in ((load, "load"), (label, "label")):
        if function is not None and not callable(function) and not (name == "load" and isinstance(function, dict)):
            raise TypeError(f"{name} must be a function, got {type(function).__name__}")
    rate, dtype, force = _check.number(rate, "rate", above=0), float_type(dtype), _check.flag(force, "force")
    sources, out = sources_of(folder), _check.path(out, "out")
    arrays = out / ARRAYS
    arrays.mkdir(parents=True, exist_ok=True)

    recipe = Recipe(spec, load, label, rate, dtype, arrays.absolute(), force)
    if executor is None:
        with ThreadPoolExecutor(get_num_threads()) as threads:
            entries = run(recipe, sources, threads, progress)
    else:
        entries = run(recipe, sources, executor, progress)

    manifest = {**recipe.settings(), "units": UNITS, "columns": list(spec.columns), **assembled(entries, arrays, rate)}
    with written_whole(out / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(manifest, file, allow_nan=False, indent=1)
    remove_others(arrays, entries)
    report(manifest)
    return manifest


# ---- one recording


@dataclass(frozen=True)
class Recipe:
    """What is done to every recording."""

    spec: FeatureSpec
    load: dict | Callable | None
    label: Callable | None
    rate: float
    dtype: np.dtype
    arrays: Path
    force: bool

    def settings(self) -> dict:
        """As JSON can hold it, functions by name."""
        from . import __version__

        return {
            "format": FORMAT,
            "versions": {"pfnnc": __version__, "numpy": np.__version__},
            "spec": self.spec.to_dict(),
            "rate": self.rate,
            "dtype": self.dtype.str,
            "load": self.load if isinstance(self.load, dict) else name_of(self.load, "load_bvh"),
            "label": name_of(self.label, "label_phase"),
        }

    def key(self, name: str, digest: str) -> str:
        """A file name for a recording of this content under these settings."""
        settings = json.dumps(self.settings(), sort_keys=True, default=str)
        stem = re.sub(r"[^\w.-]", "_", Path(name).name, flags=re.ASCII)[:48]
        return f"{stem}-{hashlib.sha256(f'{settings}{name}{digest}'.encode()).hexdigest()[:16]}"


def name_of(function, default: str) -> str:
    if function is None:
        return default
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__name__)}"


def work(recipe: Recipe, name: str, path: str) -> dict:
    """One recording's entry for the manifest, its arrays written; from an earlier build where it is there."""
    try:
        digest = digest_of(path)
    except OSError as error:  # tried again the next time
        return dropped(name, None, f"it cannot be read: {error}")
    key = recipe.key(name, digest)
    aside = recipe.arrays / f"{key}.json"
    if not recipe.force and (entry := finished(recipe.arrays, aside)):
        return entry
    try:
        entry = {"name": name, "sha256": digest, "key": key, "dropped": None, **encoded(recipe, key, path)}
    except Unreadable as error:
        return dropped(name, digest, str(error))
    except ValueError as error:
        entry = {**dropped(name, digest, str(error)), "key": key}
    except Exception as error:  # of the caller's own functions, or of the disk: it stops the build
        error.add_note(f"in recording {name}")
        raise
    with written_whole(aside, "w", encoding="utf-8") as file:
        json.dump({"entry": entry, "crc32": checksum_of(entry)}, file, allow_nan=False)
    return entry


class Unreadable(Exception):
    """A recording that may be read another time."""


def finished(arrays: Path, aside: Path) -> dict | None:
    """The entry of an earlier build, if it is whole and so are all its arrays."""
    try:
        record = json.loads(aside.read_text(encoding="utf-8"))
        entry = record["entry"]
        if record["crc32"] != checksum_of(entry):
            return None
        files = (entry["arrays"] or {}).values()
        return entry if all((arrays / file["name"]).stat().st_size == file["bytes"] for file in files) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def checksum_of(entry: dict) -> int:
    return zlib.crc32(json.dumps(entry, sort_keys=True).encode())


def dropped(name: str, digest: str | None, reason: str) -> dict:
    return {"name": name, "sha256": digest, "key": None, "dropped": reason, "arrays": None}


def digest_of(path: str) -> str:
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe can be read once, and a device has no end
        raise OSError(errno.EINVAL, "not a regular file", path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def encoded(recipe: Recipe, key: str, path: str) -> dict:
    """The arrays of one recording on the disk, and what the manifest says of it."""
    try:
        clip, labels, notes = loaded(recipe, path)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error}") from error
    phase = getattr(labels, "phase", labels)
    phase = _check.phases(phase, "phase", (len(clip),), nan=True, dtype=np.float64)
    if np.isnan(phase).all():
        raise ValueError("no frame has a phase")
    contacts = getattr(labels, "contacts", None) if recipe.spec.contacts else None
    shown, own, touching = _augment.at_rate(clip, phase, contacts, recipe.rate)
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(recipe.spec.encode(shown, contacts=touching), recipe.dtype)
    _check.check_finite(rows, "features")
    track = path_track(shown.root_positions, quat_yaw(shown.rotations[:, 0]))
    parts = {"rows": rows, "phase": own, "track": track, "marks": _split.marks_of_clip(clip)}
    return {
        "recorded": {"frames": len(clip), "fps": clip.fps},
        "skeleton": skeleton_dict(clip.skeleton),
        "warnings": notes,
        "frames": len(rows),
        "phaseless": int(np.isnan(own).sum()),
        "arrays": {part: write_array(recipe.arrays / f"{key}.{part}.npy", array) for part, array in parts.items()},
    }


def loaded(recipe: Recipe, path: str) -> tuple[Clip, object, list[str]]:
    """A recording's clip, its labels or phase, and what is odd about the file."""
    labels, notes = None, []
    if callable(recipe.load):
        clip = recipe.load(path)
        if isinstance(clip, tuple) and len(clip) == 2:
            clip, labels = clip
        if not isinstance(clip, Clip):
            raise TypeError(f"load must return a Clip or (clip, labels), got {type(clip).__name__}")
    else:
        _, clip, notes = load_with_notes(path, **(recipe.load or {}))
    if labels is None:
        labels = (recipe.label or label_phase)(clip)
    return clip, labels, notes


def write_array(path: Path, array: np.ndarray) -> dict:
    with written_whole(path) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return {"name": path.name, "bytes": path.stat().st_size, "crc32": checksum(array)}


def checksum(array: np.ndarray) -> int:
    """CRC-32 of an array's bytes, a bounded number at a time."""
    value = 0
    for chunk in chunks([array]):
        value = zlib.crc32(np.ascontiguousarray(chunk).data.cast("B"), value)
    return value


def skeleton_dict(skeleton: Skeleton) -> dict:
    return {
        "names": skeleton.names,
        "parents": skeleton.parents.tolist(),
        "offsets": skeleton.offsets.tolist(),
        "channels": [list(channels) for channels in skeleton.channels],
        "end_sites": [[int(joint), list(map(float, place))] for joint, place in skeleton.end_sites],
    }


# ---- all recordings


def sources_of(folder) -> list[tuple[str, str]]:
    """Name and absolute path of each recording, in a fixed order."""
    if isinstance(folder, (str, os.PathLike)):
        paths = sorted(p for p in Path(folder).iterdir() if p.name.lower().endswith((".bvh", ".bvh.gz")) and p.is_file())
        if not paths:
            raise ValueError(f"folder must hold files *.bvh or *.bvh.gz, {os.fspath(folder)} has none")
        return [(path.name, os.path.abspath(path)) for path in paths]
    paths = _check.sequence(folder, "folder", "paths, or the path of a folder")
    names = [os.fspath(_check.path(path, f"folder[{i}]")) for i, path in enumerate(paths)]
    if not names:
        raise ValueError("folder must hold at least one path, got none")
    if len(set(names)) < len(names):
        raise ValueError("folder must hold different paths, got one twice")
    return [(name, os.path.abspath(name)) for name in names]


def run(recipe: Recipe, sources: list[tuple[str, str]], executor: Executor, show: bool | None) -> list[dict]:
    """All entries, in the order of the sources; a bounded number is with the executor at a time."""
    entries: list[dict | None] = [None] * len(sources)
    waiting = iter(enumerate(sources))
    pending: dict[Future, int] = {}
    try:
        with Progress(len(sources), "data set", show=show) as bar:
            while True:
                for i, (name, path) in waiting:
                    future = executor.submit(work, recipe, name, path)
                    if not isinstance(future, Future):
                        raise TypeError(f"executor.submit must return a concurrent.futures.Future, got {type(future).__name__}")
                    pending[future] = i
                    if len(pending) >= IN_FLIGHT:
                        break
                if not pending:
                    return entries
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    i = pending.pop(future)
                    entries[i] = future.result()
                    if not isinstance(entries[i], dict) or entries[i].get("name") != sources[i][0]:
                        raise TypeError(f"executor must return what the task returns, got {entries[i]!r}")
                    bar.update()
    finally:
        for future in pending:
            future.cancel()


def assembled(entries: list[dict], arrays: Path, rate: float) -> dict:
    """The manifest's tables: recordings, skeletons, clips and where each stands on its group's common time."""
    kept = [entry for entry in entries if entry["arrays"]]
    if not kept:
        reasons = "; ".join(f"{entry['name']}: {entry['dropped']}" for entry in entries[:5])
        raise ValueError(f"no recording can be used: {reasons}")
    marks = [np.load(arrays / entry["arrays"]["marks"]["name"], mmap_mode="r") for entry in kept]
    # time in frames of the recordings: pieces of one need not begin on a frame of the data set
    places: list[dict] = [{}] * len(kept)
    paces = [entry["recorded"]["fps"] / rate for entry in kept]
    for g, group in enumerate(_split.at_paces(_split.by_content(marks), paces)):
        for clip, offset, pace in zip(group.clips, group.offsets, group.speeds, strict=True):
            places[clip] = {"group": g, "offset": offset, "pace": pace}

    skeletons: list[dict] = []
    for entry in kept:
        if entry["skeleton"] not in skeletons:
            skeletons.append(entry["skeleton"])
    stored = ("frames", "phaseless", "arrays")
    clips = [
        {"recording": entry["name"], **{k: entry[k] for k in stored}, **place}
        for entry, place in zip(kept, places, strict=True)
    ]
    recordings = [
        {k: v for k, v in entry.items() if k not in (*stored, "skeleton")}
        | ({"skeleton": skeletons.index(entry["skeleton"])} if entry["arrays"] else {})
        for entry in entries
    ]
    return {"recordings": recordings, "skeletons": skeletons, "clips": clips}


def remove_others(arrays: Path, entries: list[dict]) -> None:
    """Delete files of earlier builds that nothing names any more."""
    keys = tuple(entry["key"] for entry in entries if entry["key"])
    for path in arrays.iterdir():
        if OURS.fullmatch(path.name) and not path.name.startswith(keys):
            path.unlink(missing_ok=True)


def report(manifest: dict) -> None:
    """Warnings that count the recordings left out, and those with something odd, and name the first."""
    recordings = manifest["recordings"]
    lost = [f"{recording['name']}: {recording['dropped']}" for recording in recordings if recording["dropped"]]
    odd = [f"{recording['name']}: {note}" for recording in recordings for note in recording.get("warnings", [])]
    for lines, what in ((lost, f"{len(lost)} of {len(recordings)} recordings dropped"), (odd, f"{len(odd)} oddities")):
        if lines:
            more = f"; and {len(lines) - 3} more, see the manifest" if len(lines) > 3 else ""
            warnings.warn(f"{what}: {'; '.join(lines[:3])}{more}", UserWarning, stacklevel=3)


# ---- opening


def open_dataset(
    folder: str | os.PathLike,
    *,
    input_len: int = 12,
    output_len: int = 6,
    stride: int = 4,
    normalizer: Normalizer | None = None,
    mirror: bool | dict[str, str] = False,
    speeds: Sequence[float] = (1.0,),
    dtype=None,
    verify: bool = False,
) -> WindowDataset:
    """The `WindowDataset` over what `build_dataset` wrote; its frames stay on the disk until a window asks for them.

    Options are those of `WindowDataset`; ``dtype`` None is the stored one. ``verify`` reads everything and compares
    checksums. A missing folder is ``FileNotFoundError``; what is damaged or no data set is ``ValueError``.
    """
    if normalizer is not None and not isinstance(normalizer, Normalizer):
        raise TypeError(f"normalizer must be a Normalizer or None, got {type(normalizer).__name__}")
    sizes, speeds = window_sizes(input_len, output_len, stride), _augment.speeds_of(speeds)
    dtype = None if dtype is None else float_type(dtype)
    verify, path = _check.flag(verify, "verify"), _check.path(folder, "folder") / MANIFEST
    with open(path, encoding="utf-8") as file:
        try:
            manifest = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no manifest of a data set: {error}") from None
    try:
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is {manifest['format']!r}, this package reads {FORMAT}")
        data = opened(path.parent / ARRAYS, manifest, sizes, dtype, verify)
        data.speeds = speeds
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is no manifest of a data set, or damaged: {error}") from None
    data._finish(normalizer, mirror)
    return data


def opened(arrays: Path, manifest: dict, sizes: tuple[int, int, int], dtype, verify: bool) -> WindowDataset:
    """A data set but for its windows."""
    data = WindowDataset.__new__(WindowDataset)
    stored = float_type(manifest["dtype"])
    data.spec = FeatureSpec.from_dict(manifest["spec"])
    data.input_len, data.output_len, data.stride = sizes
    data.dtype = stored if dtype is None else dtype
    data.fps = _check.number(manifest["rate"], "rate", above=0)
    data.skeleton = skeleton_from(manifest["skeletons"][0])
    clips = manifest["clips"]
    if not clips:
        raise ValueError("it has no clips")
    data.names = tuple(str(clip["recording"]) for clip in clips)
    kinds = {"rows": ((data.spec.dim,), stored), "phase": ((), np.float64), "track": ((3,), np.float64)}
    parts = {part: tuple(mapped(arrays, clip, part, *kind, verify) for clip in clips) for part, kind in kinds.items()}
    data.frames, data.tracks = parts["rows"], parts["track"]
    data.phases = tuple(_check.phases(phase, f"phase of clips[{i}]", nan=True) for i, phase in enumerate(parts["phase"]))
    data._groups = None
    data._ready = timelines(clips)
    return data


def mapped(arrays: Path, clip: dict, part: str, columns: tuple[int, ...], dtype, verify: bool) -> np.ndarray:
    """One array of a clip, as a view of its memory map."""
    file = clip["arrays"][part]
    path = arrays / file["name"]
    if path.parent != arrays or not OURS.fullmatch(path.name):
        raise ValueError(f"the manifest names {file['name']!r}, which is no array of a data set")
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, SyntaxError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    shape = (clip["frames"], *columns)
    if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        wanted = f"{shape} of {np.dtype(dtype)}"
        raise ValueError(f"{path} is damaged: it should hold {wanted}, and holds {array.shape} of {array.dtype}")
    if verify and checksum(array) != file["crc32"]:
        raise ValueError(f"{path} is damaged: its checksum is wrong")
    return array


def timelines(clips: list[dict]) -> list[_split.Timeline]:
    groups: dict[int, _split.Timeline] = {}
    for i, clip in enumerate(clips):
        group = groups.setdefault(_check.integer(clip["group"], "group", least=0), _split.Timeline([], [], []))
        group.clips.append(i)
        group.offsets.append(_check.number(clip["offset"], "offset", least=-1e15, most=1e15))
        group.speeds.append(_check.number(clip["pace"], "pace", least=1e-9, most=1e15))
    return list(groups.values())


def skeleton_from(settings: dict) -> Skeleton:
    return Skeleton(
        settings["names"],
        settings["parents"],
        settings["offsets"],
        channels=settings["channels"],
        end_sites=[(joint, place) for joint, place in settings["end_sites"]],
    )
