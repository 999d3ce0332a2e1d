"""What a recording seems to be: the suggestions, their reasons, and the recordings whose facts are known."""

import dataclasses
import warnings

import numpy as np
import pytest
from conftest import SHARED

import pfnnc
from pfnnc import Clip, Description, describe, save_bvh

NAMES = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot"]
PARENTS = [-1, 0, 1, 2, 0, 4, 5]
OFFSETS = np.array([[0, 0.9, 0], [0.1, 0, 0], [0, -0.42, 0], [0, -0.42, 0], [-0.1, 0, 0], [0, -0.42, 0], [0, -0.42, 0]])


def walker(fps=30.0, seconds=6.0, scale=1.0, turn=(1.0, 0, 0, 0), cycle=1.1, stride=1.35):
    """Legs that swing like pendulums while the hips go straight on."""
    times = np.arange(int(seconds * fps)) / fps
    root = np.stack([0 * times, 0.9 + 0 * times, stride / cycle * times], axis=1)
    rotations = np.zeros((len(times), 7, 4))
    rotations[..., 0] = 1
    for joint, sign in ((1, 1), (4, -1)):
        half = sign * 0.2 * np.sin(2 * np.pi * times / cycle)
        rotations[:, joint, :2] = np.stack([np.cos(half), np.sin(half)], axis=1)
    rotations[:, 0] = turn
    skeleton = pfnnc.Skeleton(NAMES, PARENTS, OFFSETS * scale)
    return Clip(skeleton, pfnnc.quat_rotate(turn, root) * scale, rotations, fps, "walker")


@pytest.mark.parametrize(
    ("unit", "scale"), [(1.0, 1.0), (0.01, 100.0), (0.1, 10.0), (0.001, 1000.0), (0.0254, 39.37), (0.056444, 17.7)]
)
def test_unit(unit, scale):
    found = describe(walker(scale=scale))
    assert found.scale.value == unit and found.scale.sure and "the left leg is" in found.scale.reason
    assert found.ground == pytest.approx(0.06 * scale, rel=0.2) and found.speed == pytest.approx(1.35 / 1.1, rel=0.05)
    odd = describe(walker(scale=400.0)).scale
    assert not odd.sure and 0.84 / 336 == pytest.approx(odd.value, rel=0.01)


@pytest.mark.parametrize(
    ("turn", "up"),
    [((1, 0, 0, 0), "y"), ((0.5**0.5, 0.5**0.5, 0, 0), "z"), ((0, 1, 0, 0), "-y"), ((0.5**0.5, 0, 0, 0.5**0.5), "-x")],
)
def test_up(turn, up):
    found = describe(walker(turn=turn))
    assert found.up.value == up and found.up.sure and "Hips is on average" in found.up.reason
    assert found.ground == pytest.approx(0.06, rel=0.2)
    assert found.rate.sure and found.rate.value == 30


@pytest.mark.parametrize(("true", "header"), [(60, 15), (120, 30), (30, 120), (24, 100), (60, 60), (30, 30), (100, 120)])
def test_rate(true, header):
    clip = walker(fps=float(true))
    rate = describe(Clip(clip.skeleton, clip.root_positions, clip.rotations, header)).rate
    wrong = not 1 / 1.8 < true / header < 1.8
    assert rate.sure is not wrong and rate.value == pytest.approx(true if wrong else header, rel=0.35)
    assert ("is the rate right?" in rate.reason) is wrong and "a gait cycle of" in rate.reason


def test_short_quick_steps_are_no_wrong_rate():
    rate = describe(walker(cycle=0.6, stride=0.8)).rate
    assert rate.value == 30 and not rate.sure and "no other usual rate would explain" in rate.reason


def test_what_does_not_walk_says_nothing_of_the_rate():
    still = walker(stride=0.0)
    for clip in (still, still[:1], still[:0], walker(seconds=0.5)):
        rate = describe(clip).rate
        assert rate.value == 30 and not rate.sure and "it does not walk steadily" in rate.reason


def test_oddities():
    clip = walker()
    root, channels = clip.root_positions.copy(), clip.skeleton.channels
    root[-1] = 0
    mixed = pfnnc.Skeleton(NAMES, PARENTS, OFFSETS, channels=[*channels[:-1], ("Xrotation",)])
    places = np.tile(OFFSETS, (len(clip), 1, 1))
    places[:, 2, 1] -= np.linspace(0, 0.1, len(clip))
    found = describe(Clip(mixed, root, clip.rotations, 30, translations=places)).oddities
    text = "\n".join(found)
    assert "rotation orders differ: ZXY on 6, X on 1" in text
    assert "positions of 1 joints leave their OFFSET by over 1 mm, 1 move" in text
    assert "the root jumps 7.3" in text and "between frames 178 and 179 of 180" in text
    assert "5 of 7 joints never turn" in text
    text = "\n".join(describe(Clip(clip.skeleton, root * 0, clip.rotations * 0 + [1, 0, 0, 0], 30)).oddities)
    assert "no joint turns" in text and "the root, Hips, stands still" in text


def test_without_feet():
    skeleton = pfnnc.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 110, 0]])
    found = describe(Clip(skeleton, [[0, 5, 0]] * 3, [[[1, 0, 0, 0]] * 2] * 3, 30))
    assert found.feet is None and found.scale.value == 0.01 and not (found.scale.sure or found.up.sure or found.rate.sure)
    flat = pfnnc.Skeleton(["a"], [-1], [[0, 0, 0]])
    assert describe(Clip(flat, [[0, 0, 0]], [[[1, 0, 0, 0]]], 30)).scale.value == 1.0


def test_files_and_folders(tmp_path):
    clip = walker(scale=100.0)
    save_bvh(tmp_path / "a.bvh", clip)
    save_bvh(tmp_path / "b.bvh", walker(fps=60.0))
    (tmp_path / "c.bvh").write_text("no BVH")
    found = describe(tmp_path / "a.bvh")
    assert isinstance(found, Description) and found.name == "a" and found.frames == 180 and found.seconds == 6
    assert found.feet == (["LeftFoot"], ["RightFoot"]) and found.root == "Hips" and found.joints == 7
    text = str(found)
    for part in (
        "a: 7 joints from Hips, 180 frames at 30 fps, 6.00 s",
        "scale   0.01: the left leg is 84 long",
        "up      y: ",
    ):
        assert part in text
    assert dataclasses.asdict(found)["scale"]["value"] == 0.01

    table = describe(tmp_path)
    assert [d.name for d in table] == ["a", "b"] and list(table.errors) == [str(tmp_path / "c.bvh")]
    lines = str(table).splitlines()
    assert lines[0].split()[:4] == ["name", "joints", "frames", "fps"] and len(lines) == 4
    assert lines[1].split()[:6] == ["a", "7", "180", "30", "6.00", "0.01"]
    assert "c.bvh:1:1: expected HIERARCHY, got 'no'" in lines[3]
    with pytest.raises(pfnnc.BVHError):
        describe(tmp_path / "c.bvh")
    with pytest.raises(FileNotFoundError):
        describe(tmp_path / "d.bvh")
    odd = (tmp_path / "a.bvh").read_text().replace("Frames: 180", "Frames: 99")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Frames: says 99, the file has 180: read 180" in describe(odd.encode()).oddities


FACTS = {  # folder: scale, up, true rate where the header is wrong
    "pack": (1.0, "y", None),
    "holden": (0.056444, "y", None),
    "cmu": (0.01, "y", 60),
    "bandai": (0.01, "y", None),
}


@pytest.mark.parametrize("folder", FACTS)
def test_recordings(folder):
    if not (SHARED / "clips" / folder).exists():
        pytest.skip("needs the recordings that lie beside the checkout")
    scale, up, rate = FACTS[folder]
    for found in describe(SHARED / "clips" / folder):
        assert found.scale.value == scale and found.scale.sure and found.up.value == up
        assert found.rate.value == (rate or found.fps) and (found.rate.sure is False or rate is None)
        assert -0.05 < found.ground * scale < 0.12
