"""BVH files: what is read, what is refused and where, what comes back."""

import csv
import gzip
import io
import pickle
import re
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import SHARED, shared
from hypothesis import given, settings
from hypothesis import strategies as st

import pfnnc
from pfnnc import BVHData, BVHError, Clip, Skeleton, load_bvh, load_clips, read_bvh, save_bvh, write_bvh

CASES = SHARED / "cases" / "bvh"
CLIPS = sorted((SHARED / "clips").glob("*/*.bvh"))
needs_clips = pytest.mark.skipif(not CLIPS, reason="needs the recordings that lie beside the checkout and are not shipped")

HEAD = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -40 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -42 1
    }
  }
}
"""
MOTION = """MOTION
Frames: 2
Frame Time: 0.0333333
1 90 2 10 20 30 5 0 0
2 91 3 11 21 31 6 0 0
"""
FILE = HEAD + MOTION


def quietly(function, *args, **options):
    """The result and the messages of the UserWarnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **options)
    assert all(w.category is UserWarning for w in caught)
    return result, [str(w.message) for w in caught]


def refused(text, **options):
    with pytest.raises(BVHError) as info:
        load_bvh(text.encode() if isinstance(text, str) else text, **options)
    return info.value


# ---- the files that odd exporters and odd people wrote --------------------------------------------


def cases():
    if not CASES.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="needs the BVH cases that lie beside the checkout"))]
    with open(CASES / "EXPECT.tsv", encoding="utf-8", newline="") as file:
        return [pytest.param(row, id=row["file"]) for row in csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize("row", cases())
def test_expectation(row):
    path = CASES / row["file"]
    if row["expect"] == "ERROR":
        with pytest.raises(BVHError) as info:
            read_bvh(path)
        assert info.value.line == int(row["error_line"])
        assert info.value.path == str(path) and str(info.value).startswith(f"{path}:{info.value.line}:")
        return
    data, messages = quietly(read_bvh, path)
    assert bool(messages) == (row["expect"] == "WARN")
    assert len(data.names) == len(data.parents) == len(data.channels) == int(row["joints"])
    assert data.frames.shape == (int(row["frames"]), int(row["channels"]))
    assert data.frame_time == float(row["frame_time"])
    for check in filter(None, row["values"].split(";")):
        check_value(check, path, data)


def check_value(check, path, data):
    what, value = check.split("=", 1)
    name = re.match(r"[a-z]+", what).group()
    index = [int(n) for n in re.findall(r"\d+", what)]
    if name == "m":
        assert data.frames[index[0], index[1]] == float(value)
    elif name == "name":
        assert data.names[index[0]] == value
    elif name == "parent":
        assert data.parents[index[0]] == int(value)
    elif name == "chan":
        assert data.channels[index[0]][index[1]] == value
    else:
        assert name == "pos"
        clip, _ = quietly(load_bvh, path)
        np.testing.assert_allclose(clip.positions()[index[1], index[0]], np.array(value.split(","), float), atol=1e-9)


@needs_clips
@pytest.mark.parametrize("path", CLIPS, ids=lambda path: path.stem)
def test_recordings_come_back(path, tmp_path):
    data, _ = quietly(read_bvh, path)
    write_bvh(tmp_path / "again.bvh", data)
    again, _ = quietly(read_bvh, tmp_path / "again.bvh")
    assert again.frames.tobytes() == data.frames.tobytes() and again.offsets.tobytes() == data.offsets.tobytes()
    assert (again.names, again.channels, again.frame_time) == (data.names, data.channels, data.frame_time)
    assert np.array_equal(again.parents, data.parents)
    assert [(j, p.tolist()) for j, p in again.end_sites] == [(j, p.tolist()) for j, p in data.end_sites]

    clip, _ = quietly(load_bvh, path)
    save_bvh(tmp_path / "clip.bvh", clip)
    back, _ = quietly(load_bvh, tmp_path / "clip.bvh", root=clip.skeleton.names[0])
    assert back.skeleton == clip.skeleton and back.fps == pytest.approx(clip.fps, rel=1e-15)
    assert np.array_equal(back.root_positions, clip.root_positions)
    assert (back.translations is None) == (clip.translations is None)
    assert clip.translations is None or np.array_equal(back.translations, clip.translations)
    assert angle_between(back.rotations, clip.rotations).max() < 1e-9


def angle_between(a, b):
    """Of unit quaternions, in radians, right also where it is tiny."""
    b = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0, -b, b)
    return 2 * np.linalg.norm(a - b, axis=-1)
