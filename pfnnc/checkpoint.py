"""The file that a training run resumes from: network, moments, options, history; checksummed, without pickle."""

import os
from dataclasses import asdict

import numpy as np

from . import _check, _store
from .features import FeatureSpec
from .network import SimplifiedPFNN
from .normalizer import Normalizer
from .skeleton import Skeleton

__all__ = ["is_checkpoint"]

KIND = "checkpoint"
MODEL = "model."


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Whether a file begins as a checkpoint does."""
    path = _check.path(path)  # a number would be taken for an open file
    try:
        with open(path, "rb") as file:
            header = file.read(64)
    except OSError:
        return False
    return header.startswith(_store.MAGIC) and header[32:].rstrip(b"\0") == KIND.encode()


def write(trainer, path: str | os.PathLike) -> None:
    """Write a `Trainer`'s state to one file, whole or not at all (``OSError``)."""
    from .training import _place_for

    if not np.isfinite(trainer.model._parameters).all():
        raise FloatingPointError("the weights are not finite: nothing is saved")

    partial = trainer._partial
    settings = {
        "about": trainer.about,
        "options": trainer._options,
        "feet": [foot if isinstance(foot, str) else int(foot) for foot in trainer._feet],
        "steps": trainer._steps,
        "velocity_weight": trainer._velocity_weight,
        "history": [asdict(report) for report in trainer._history],
        "partial": {"shape": partial.shape, "batches": partial.batches, "sums": partial.sums.tolist()},
        "skeleton": _skeleton_to(trainer._skeleton),
        "spec": None if trainer._spec is None else trainer._spec.to_dict(),
    }
    arrays = trainer.model._to_arrays(MODEL)
    arrays.update(first=trainer._first, second=trainer._second)
    if trainer._average is not None:
        arrays["average"] = trainer._average
    if trainer._normalizer is not None:
        arrays.update(mean=trainer._normalizer.mean_, scale=trainer._normalizer.scale_)
    _store.save(_place_for(path), KIND, arrays, settings)


def read(cls, path: str | os.PathLike):
    """The `Trainer` of a file; ``FileNotFoundError``, ``ValueError`` where it is damaged or something else."""
    from .training import MOST_COUNT, EpochReport, _Partial

    arrays, settings = _store.load(path, KIND)
    try:
        model = SimplifiedPFNN._from_arrays(arrays, os.fspath(path), MODEL)
        options = dict(settings["options"])
        trainer = cls(
            model,
            **options,
            skeleton=_skeleton_from(settings["skeleton"]),
            feet=settings["feet"],
            spec=_spec_from(settings["spec"]),
            normalizer=_normalizer_from(arrays),
        )
        for name, array in (("first", trainer._first), ("second", trainer._second), ("average", trainer._average)):
            if array is not None:
                array[...] = _same(arrays[name], array, name)
        trainer.about = dict(settings["about"])
        trainer._steps = _check.integer(settings["steps"], "steps", least=0, most=MOST_COUNT)
        trainer._velocity_weight = float(settings["velocity_weight"])
        trainer._history = [EpochReport(**report) for report in settings["history"]]
        partial = settings["partial"]
        shape = None if partial["shape"] is None else tuple(partial["shape"])
        trainer._partial = _Partial(shape, int(partial["batches"]), np.array(partial["sums"], np.float64))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{os.fspath(path)} is no {KIND} file of pfnnc: {error}") from None
    return trainer


def _same(array: np.ndarray, like: np.ndarray, name: str) -> np.ndarray:
    if array.shape != like.shape or array.dtype != like.dtype:
        raise ValueError(f"{name} is {array.dtype} {array.shape}, expected {like.dtype} {like.shape}")
    return array


def _skeleton_to(skeleton) -> dict | None:
    if skeleton is None:
        return None
    return {
        "names": list(skeleton.names),
        "parents": [int(p) for p in skeleton.parents],
        "offsets": np.asarray(skeleton.offsets, np.float64).tolist(),
        "end_sites": [[int(parent), [float(x) for x in offset]] for parent, offset in skeleton.end_sites],
    }


def _skeleton_from(given: dict | None):
    if given is None:
        return None
    ends = [(parent, np.array(offset)) for parent, offset in given["end_sites"]]
    return Skeleton(given["names"], given["parents"], np.array(given["offsets"]).reshape(-1, 3), end_sites=ends)


def _spec_from(given: dict | None):
    return None if given is None else FeatureSpec.from_dict(given)


def _normalizer_from(arrays: dict):
    if "mean" not in arrays:
        return None
    normalizer = Normalizer("all")
    normalizer.mean_, normalizer.scale_ = arrays["mean"], arrays["scale"]
    normalizer.floored_ = np.zeros(0, np.int64)
    return normalizer
