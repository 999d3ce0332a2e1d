"""Skeletons and clips against a NumPy loop and their own laws."""

import numpy as np
import pytest

from pfnnc import Clip, Skeleton, exp_map_to_quat, quat_mul, quat_rotate

NAMES = ["Hips", "LeftUpLeg", "LeftFoot", "RightUpLeg", "RightFoot", "Spine"]
PARENTS = [-1, 0, 1, 0, 3, 0]


def make_clip(frames=20, fps=30.0, *, translations=False, seed=0, skeleton=None):
    random = np.random.default_rng(seed)
    skeleton = skeleton or Skeleton(NAMES, PARENTS, random.standard_normal((6, 3)))
    joints = len(skeleton)
    rotations = exp_map_to_quat(np.cumsum(random.standard_normal((frames, joints, 3)) * 0.2, axis=0))
    places = random.standard_normal((frames, joints, 3)) if translations else None
    return Clip(skeleton, random.standard_normal((frames, 3)), rotations, fps, "walk", translations=places)


def positions_by_loop(clip):
    """Forward kinematics in its plainest form."""
    skeleton = clip.skeleton
    out = np.empty((len(clip), len(skeleton), 3))
    world = np.empty((len(clip), len(skeleton), 4))
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            out[:, j], world[:, j] = clip.root_positions, clip.rotations[:, j]
            continue
        local = skeleton.offsets[j] if clip.translations is None else clip.translations[:, j]
        out[:, j] = out[:, parent] + quat_rotate(world[:, parent], local)
        world[:, j] = quat_mul(world[:, parent], clip.rotations[:, j])
    return out, world


@pytest.mark.parametrize("translations", [False, True])
def test_positions(translations):
    clip = make_clip(translations=translations)
    places, world = positions_by_loop(clip)
    np.testing.assert_allclose(clip.positions(), places, atol=1e-13)
    np.testing.assert_allclose(clip.world_rotations(), world, atol=1e-13)


def test_slice_and_concat():
    clip = make_clip(translations=True)
    part = clip[3:15:4]
    assert len(part) == 3 and part.fps == clip.fps and part.skeleton is clip.skeleton
    np.testing.assert_array_equal(part.positions(), clip.positions()[3:15:4])
    both = clip[:7].concat(clip[7:])
    np.testing.assert_array_equal(both.rotations, clip.rotations)
    np.testing.assert_array_equal(both.positions(), clip.positions())
    with pytest.raises(TypeError, match="slice"):
        clip[3]
    with pytest.raises(ValueError, match="fps"):
        clip.concat(make_clip(fps=60.0))


@pytest.mark.parametrize(("frames", "old", "new", "count"), [(100, 120, 30, 25), (31, 30, 60, 61), (1, 30, 60, 1), (61, 60, 24, 25)])
def test_resample(frames, old, new, count):
    clip = make_clip(frames, old)
    other = clip.resample(new)
    assert len(other) == count and other.fps == new
    if old % new == 0:
        np.testing.assert_array_equal(other.rotations, clip.rotations[:: old // new])
    if new % old == 0:
        np.testing.assert_array_equal(other.rotations[:: new // old], clip.rotations)
        np.testing.assert_array_equal(other[:: new // old].positions(), clip.positions())


@pytest.mark.parametrize("pairs", [None, {"LeftUpLeg": "RightUpLeg"}, {}])
def test_mirror(pairs):
    clip = make_clip(translations=True)
    other = clip.mirror(pairs)
    back = other.mirror(pairs)
    for name in ("root_positions", "rotations", "translations"):
        assert getattr(back, name).tobytes() == getattr(clip, name).tobytes()
    np.testing.assert_array_equal(other.root_positions, clip.root_positions * [-1, 1, 1])
    with pytest.raises(ValueError, match="nose"):
        clip.mirror({"nose": "LeftFoot"})


def test_mirror_on_a_symmetric_skeleton_mirrors_the_points():
    offsets = [[0, 1, 0], [0.1, -0.1, 0], [0, -0.4, 0.1], [-0.1, -0.1, 0], [0, -0.4, 0.1], [0, 0.3, 0]]
    clip = make_clip(skeleton=Skeleton(NAMES, PARENTS, offsets))
    expected = clip.positions()[:, [0, 3, 4, 1, 2, 5]] * [-1, 1, 1]
    np.testing.assert_allclose(clip.mirror().positions(), expected, atol=1e-14)


def test_wrong_values_are_named():
    good = make_clip()
    rotations = good.rotations.copy()
    rotations[2, 3] = 0
    with pytest.raises(ValueError, match=r"rotations\[2, 3\]"):
        Clip(good.skeleton, good.root_positions, rotations, 30)
    rotations[2, 3] = [np.nan, 0, 0, 0]
    with pytest.raises(ValueError, match=r"rotations\[2, 3, 0\]=nan"):
        Clip(good.skeleton, good.root_positions, rotations, 30)
    with pytest.raises(ValueError, match=r"parents\[1\]=1"):
        Skeleton(["a", "b"], [-1, 1], np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"names\[1\]='a'"):
        Skeleton(["a", "a"], [-1, 0], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Tail"):
        good.skeleton.index("Tail")


def test_deep_chain():
    n = 100_000
    skeleton = Skeleton([f"j{i}" for i in range(n)], np.arange(n) - 1, np.tile([0.0, 0.0, 0.001], (n, 1)))
    clip = Clip(skeleton, np.zeros((1, 3)), np.tile([1.0, 0, 0, 0], (1, n, 1)), 30)
    assert clip.positions()[0, -1, 2] == pytest.approx(99.999)
