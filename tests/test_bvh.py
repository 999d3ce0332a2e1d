"""Clips from BVH files and files from clips: axes, units, rates, roots, channels, folders."""

import gzip
import itertools
import multiprocessing
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from conftest import plain_environment
from test_bvh_file import BODY, FILE, HEAD, angle_between, quietly, refused

import pfnnc
from pfnnc import BVHData, BVHError, Clip, Skeleton, load_bvh, load_clips, read_bvh, save_bvh, write_bvh


def file_of(channels, rows, frame_time="0.01", offset="0 0 0"):
    """A root and a child with OFFSET 1 2 3 of the given channels, and an End Site."""
    (root, child), count = channels, len(rows)
    lines = [f"HIERARCHY ROOT a\n{{ OFFSET {offset} CHANNELS {len(root.split())} {root}"]
    lines += [f"JOINT b\n{{ OFFSET 1 2 3 CHANNELS {len(child.split())} {child}", "End Site { OFFSET 4 5 6 } } }"]
    return "\n".join([*lines, f"MOTION\nFrames: {count}\nFrame Time: {frame_time}", *rows, ""]).encode()


def turn(axis, degrees):
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * np.eye(3)["XYZ".index(axis)])])


ORDERS = ["".join(axes) for count in (1, 2, 3) for axes in itertools.permutations("XYZ", count)]


@pytest.mark.parametrize("order", ORDERS)
def test_rotation_channels_apply_in_their_order(order, tmp_path):
    angles = [(0, 0, 0), (10, 20, 30), (-170, 100, 80), (725.5, -541, 90), (30, 90, 40), (20, -90, 50), (5, 180, -180)]
    angles = [row[: len(order)] for row in [*angles, (90, 90, 90)]]
    channels = " ".join(axis + "rotation" for axis in order)
    clip = load_bvh(file_of(("", channels), [" ".join(map(str, row)) for row in angles]))
    for rotation, row in zip(clip.rotations[:, 1], angles, strict=True):
        wanted = np.array([1.0, 0, 0, 0])
        for axis, degrees in zip(order, row, strict=True):
            wanted = pfnnc.quat_mul(wanted, turn(axis, degrees))
        assert angle_between(rotation, wanted) < 1e-12
    assert np.array_equal(clip.rotations[0], [[1, 0, 0, 0]] * 2)

    save_bvh(tmp_path / "again.bvh", clip)
    again = load_bvh(tmp_path / "again.bvh")
    assert again.skeleton == clip.skeleton
    assert angle_between(again.rotations, clip.rotations).max() < 1e-9


def exact_half_turn(degrees):
    """Cosine and sine of half an angle, to 40 digits."""
    turns = mpmath.mpf(degrees) / 360
    return mpmath.cospi(turns), mpmath.sinpi(turns)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_rotations_are_right_to_the_last_bits(order):
    rng = np.random.default_rng(7)
    angles = [rng.uniform(-180, 180, (60, 3)), rng.uniform(-1e6, 1e6, (20, 3)), rng.integers(-9, 9, (40, 3)) * 90.0]
    angles += [rng.normal(0, 1e-7, (10, 3)), rng.uniform(-1e15, 1e15, (10, 3)), np.zeros((1, 3))]
    angles = np.concatenate(angles)
    found = pfnnc._core.bvh_rotations(angles, [bytes(3 + "XYZ".index(axis) for axis in order)])[:, 0]
    i, j, k = ("XYZ".index(axis) for axis in order)
    sign = 1 if order in ("XYZ", "YZX", "ZXY") else -1
    with mpmath.workdps(40):
        for row, q in zip(angles, found, strict=True):
            (c1, s1), (c2, s2), (c3, s3) = map(exact_half_turn, row)
            wanted = [c1 * c2 * c3 - sign * s1 * s2 * s3, 0, 0, 0]
            wanted[1 + i] = s1 * c2 * c3 + sign * c1 * s2 * s3
            wanted[1 + j] = c1 * s2 * c3 - sign * s1 * c2 * s3
            wanted[1 + k] = c1 * c2 * s3 + sign * s1 * s2 * c3
            assert max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(q, wanted, strict=True)) < 4 * 2.0**-53
    assert found[-1].tobytes() == np.array([1.0, 0, 0, 0]).tobytes()


def test_rotations_have_the_same_bits_on_every_processor():
    code = """
import hashlib, numpy, pfnnc
angles = numpy.random.default_rng(1).normal(0, 200, (1001, 9))
rotations = pfnnc._core.bvh_rotations(angles, [bytes([3, 5, 4]), bytes([4]), bytes(), bytes([2, 5, 3, 1, 4])])
print(hashlib.sha256(rotations).hexdigest())
"""
    digests = set()
    for isa in ("", "sse2", "portable"):
        environment = plain_environment(**({"PFNNC_ISA": isa} if isa else {}))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_positions_replace_the_offset_or_add_to_it():
    text = file_of(("Yposition", "Zposition Xposition Yrotation"), ["10 7 8 90", "11 9 8 0"], offset="5 6 7")
    clip = load_bvh(text)
    assert clip.root_positions.tolist() == [[5, 10, 7], [5, 11, 7]]
    assert clip.translations[:, 1].tolist() == [[8, 2, 7], [8, 2, 9]]
    np.testing.assert_allclose(clip.positions()[0, 1], [13, 12, 14])
    clip = load_bvh(text, positions="add", scale=0.5)
    assert clip.root_positions.tolist() == [[2.5, 8, 3.5], [2.5, 8.5, 3.5]]
    assert clip.translations[:, 1].tolist() == [[4.5, 1, 5], [4.5, 1, 6]]
    # positions that repeat the OFFSET move nothing
    assert load_bvh(file_of(("", "Xposition Yposition Zposition"), ["1 2 3"])).translations is None


def test_positions_of_zero_beside_an_offset_are_warned_of():
    text = file_of(("", "Xposition Yposition Zposition"), ["0 0 0", "0 1e-6 0"])
    clip, messages = quietly(load_bvh, text)
    assert len(messages) == 1 and "the positions of 'b' are 0 all the time" in messages[0]
    assert np.allclose(clip.positions()[:, 1], 0, atol=1e-6)
    clip, messages = quietly(load_bvh, text, positions="add")
    assert not messages and np.allclose(clip.positions()[:, 1], [1, 2, 3], atol=1e-6)


def test_up_and_scale():
    root, child = "Xposition Yposition Zposition Zrotation", "Zrotation Xrotation Yrotation"
    text = file_of((root, child), ["1 2 3 30 0 0 0", "4 5 6 0 10 20 30"])
    plain, turned = load_bvh(text), load_bvh(text, up="z", scale=0.01)
    assert np.allclose(turned.root_positions, [[0.01, 0.03, -0.02], [0.04, 0.06, -0.05]], atol=0, rtol=1e-15)
    assert np.allclose(turned.rotations[0, 0], [0.9659258262890683, 0, 0.25881904510252074, 0])
    assert np.array_equal(turned.skeleton.offsets[1], np.array([1, 3, -2]) * 0.01)
    assert np.array_equal(turned.skeleton.end_sites[0][1], np.array([4, 6, -5]) * 0.01)
    x, y, z = np.moveaxis(plain.positions(), -1, 0)
    np.testing.assert_allclose(turned.positions(), np.stack([x, z, -y], axis=-1) * 0.01, atol=1e-15)
    assert np.array_equal(turned.rotations[0, 1], [1, 0, 0, 0]) and not np.signbit(turned.rotations[0, 1]).any()


def test_a_turned_clip_can_be_saved(tmp_path):
    # a joint that turns about z alone turns about y afterwards: its channel must follow
    text = file_of(("Zposition Zrotation", "Xrotation Zrotation"), ["3 30 0 0", "6 20 10 20"])
    clip = load_bvh(text, up="z")
    assert clip.skeleton.channels == (("Yposition", "Yrotation"), ("Xrotation", "Yrotation"))
    save_bvh(tmp_path / "y.bvh", clip)
    again = load_bvh(tmp_path / "y.bvh")
    assert np.array_equal(again.root_positions, clip.root_positions)
    assert angle_between(again.rotations, clip.rotations).max() < 1e-12


@pytest.mark.parametrize(
    ("text", "fps"),
    [
        ("0.008333", 120),
        ("0.0083333", 120),
        (".0083333", 120),
        ("0.033333", 30),
        ("0.03333", 30),
        ("0.0333", 1 / 0.0333),
        ("0.041667", 24),
        ("0.04", 25),
        ("0.016667", 60),
        ("0.01", 100),
        ("0.01111", 90),
        ("0.0111111", 90),
        ("0.06666666", 15),
        ("0.0333667", 1 / 0.0333667),
        ("1", 1),
        ("2", 0.5),
        ("0.00001", 100000),
        ("0.017", 1 / 0.017),
        ("0.03334", 1 / 0.03334),
    ],
)
def test_rate(text, fps):
    text = file_of(("Xposition", ""), ["1"], text)
    assert load_bvh(text).fps == fps
    assert load_bvh(text, fps=48).fps == 48


def test_a_frame_time_of_zero_needs_a_rate():
    text = file_of(("Xposition", ""), ["1"], "0")
    assert refused(text).line == 8
    assert load_bvh(text, fps=30).fps == 30
    assert refused(file_of(("Xposition", ""), ["1"], "-0.01"), fps=30).line == 8
    with pytest.raises(BVHError):
        read_bvh(text)


def test_the_moving_pelvis_becomes_the_root():
    clip, messages = quietly(load_bvh, BODY.encode())
    assert len(messages) == 1 and "'Scene' stands still and 'Hips' moves" in messages[0]
    whole, messages = quietly(load_bvh, BODY.encode(), root="Scene")
    assert not messages and len(whole.skeleton) == 4
    assert clip.skeleton.names == ["Hips", "LeftLeg", "RightLeg"] and clip.skeleton.parents.tolist() == [-1, 0, 0]
    assert [(j, place.tolist()) for j, place in clip.skeleton.end_sites] == [(2, [0, -80, 0])]
    np.testing.assert_allclose(clip.root_positions, [[7, 101, 6], [9, 101, 4]], atol=1e-12)
    np.testing.assert_allclose(clip.positions(), whole.positions()[:, 1:], atol=1e-12)
    assert angle_between(clip.world_rotations(), whole.world_rotations()[:, 1:]).max() < 1e-12
    named, messages = quietly(load_bvh, BODY.encode(), root="Hips")
    assert not messages and named.skeleton == clip.skeleton and np.array_equal(named.rotations, clip.rotations)


def test_a_root_without_legs_or_of_no_motion_is_left_alone():
    moving = BODY.replace("\n5 6 7 0 0 90 3", "\n5 6 8 0 0 90 3")
    turning = BODY.replace("\n5 6 7 0 0 90 3", "\n5 6 7 0 0 91 3")
    still = BODY.replace("3 95 4 11 21 31", "1 95 2 10 20 30")
    prop = BODY.replace("    JOINT RightLeg", "  }\n    JOINT RightLeg").replace("  }\n}\nMOTION", "}\nMOTION")
    for text in (moving, turning, still, prop, FILE):
        clip, messages = quietly(load_bvh, text.encode())
        assert not messages and clip.skeleton.parents[1] == 0 and clip.skeleton.names[0] in ("Scene", "Hips")
        assert len(clip.skeleton) == (2 if text == FILE else 4)


def test_root_by_name(tmp_path):
    clip = load_bvh(BODY.encode(), root="RightLeg")
    whole = load_bvh(BODY.encode(), root="Scene")
    knee = load_bvh(FILE.encode(), root="Knee", fps=0.5)
    assert clip.skeleton.names == ["RightLeg"] and knee.skeleton.names == ["Knee"] and knee.fps == 0.5
    for skeleton in (clip.skeleton, knee.skeleton):  # a root moves
        assert skeleton.channels[0][:3] == ("Xposition", "Yposition", "Zposition")
    np.testing.assert_allclose(clip.root_positions, whole.positions()[:, 3], atol=1e-12)
    save_bvh(tmp_path / "leg.bvh", clip)
    assert np.array_equal(load_bvh(tmp_path / "leg.bvh").root_positions, clip.root_positions)
    with pytest.raises(ValueError, match="root='hips' is no joint of the file, which has Scene Hips LeftLeg RightLeg"):
        load_bvh(BODY.encode(), root="hips")


def test_two_roots():
    text = FILE.replace("MOTION", HEAD[10:].replace("Hips", "Box").replace("Knee", "Lid") + "MOTION")
    rows = text[: text.index("1 90")] + "\n".join(" ".join(map(str, range(f, f + 18))) for f in (0, 100))
    data, messages = quietly(read_bvh, rows.encode())
    assert data.parents.tolist() == [-1, 0, -1, 2]
    assert messages == ["<bytes>: the file has 2 ROOTs, 'Hips', 'Box'"]
    clip, messages = quietly(load_bvh, rows.encode())
    assert clip.skeleton.names == ["Hips", "Knee"]
    assert messages == ["<bytes>: the file has 2 ROOTs, 'Hips', 'Box': took the first, root= names another"]
    clip, messages = quietly(load_bvh, rows.encode(), root="Box")
    assert clip.skeleton.names == ["Box", "Lid"] and clip.root_positions.tolist() == [[9, 10, 11], [109, 110, 111]]
    assert not messages


def test_a_joint_gets_the_channels_that_its_motion_needs(tmp_path):
    few = [["Yposition"], ["Zrotation", "Xrotation"]]
    skeleton = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [1, 2, 3]], channels=few, end_sites=[(1, [4, 5, 6])])
    root = np.array([[0.0, 5, 0]] * 3)
    still = np.array([[[1.0, 0, 0, 0]] * 2] * 3)
    aside = root + [[0, 0, 0], [0.1, 0, 0], [0, 0, 0]]
    places = np.tile([[0.0, 5, 0], [1, 2, 3]], (3, 1, 1))
    moved = places + [[[0, 0, 0], [0, 0, x]] for x in (0, 0, 0.5)]
    first, second = still.copy(), still.copy()
    first[1, 0], second[1, 1] = turn("Y", 1e-6), pfnnc.quat_mul(turn("Y", 90), turn("Z", 30))
    positions = ("Xposition", "Yposition", "Zposition")
    for arguments, channels in (
        ((root, still), few),
        ((root, still, places), few),
        ((aside, still), [positions, few[1]]),
        ((root, still, moved), [few[0], [*positions, *few[1]]]),
        ((root, first), [["Yposition", "Xrotation", "Yrotation", "Zrotation"], few[1]]),
        ((root, second), [few[0], [*few[1], "Yrotation"]]),
    ):
        clip = Clip(skeleton, *arguments[:2], 30, translations=arguments[2] if arguments[2:] else None)
        save_bvh(tmp_path / "a.bvh", clip)
        again = load_bvh(tmp_path / "a.bvh")
        assert again.skeleton.channels == tuple(map(tuple, channels))
        assert np.array_equal(again.root_positions, clip.root_positions)
        np.testing.assert_allclose(again.positions(), clip.positions(), rtol=0, atol=1e-9)
        assert angle_between(again.rotations, clip.rotations).max() < 1e-9
        assert np.array_equal(again.skeleton.end_sites[0][1], [4, 5, 6])


@pytest.mark.parametrize("order", [order for order in ORDERS if len(order) == 3])
def test_rotations_survive_the_gimbal_lock(order, tmp_path):
    """Random ones, and ones whose middle angle is 90 degrees or comes as near to it as doubles can."""
    rng = np.random.default_rng(3)
    angles = rng.uniform(-np.pi, np.pi, (4000, 3))
    near = np.concatenate([np.zeros(200), 10.0 ** rng.uniform(-17, -1, 1800)])
    angles[:2000, 1] = rng.choice([-1, 1], 2000) * (np.pi / 2 + rng.choice([-1, 1], 2000) * near)
    rotations = np.stack([pfnnc.quat_from_euler(angles, order), pfnnc.quat_normalize(rng.normal(size=(4000, 4)))], axis=1)
    channels = [axis + "rotation" for axis in order]
    skeleton = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0]] * 2, channels=[["Xposition", *channels], channels])
    save_bvh(tmp_path / "a.bvh", Clip(skeleton, np.zeros((4000, 3)), rotations, 30))
    assert angle_between(load_bvh(tmp_path / "a.bvh").rotations, rotations).max() < 1e-9


def test_a_skeleton_made_by_hand_gets_the_usual_channels(tmp_path):
    skeleton = Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [1, 2, 3]])
    save_bvh(tmp_path / "a.bvh", Clip(skeleton, [[1, 2, 3]], [[[1, 0, 0, 0]] * 2], 30))
    data = read_bvh(tmp_path / "a.bvh")
    assert data.channels == (
        ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation"),
        ("Zrotation", "Xrotation", "Yrotation"),
    )
    assert load_bvh(tmp_path / "a.bvh").fps == 30


def test_joints_in_any_order_are_written_depth_first(tmp_path):
    data = BVHData(
        ["a", "b", "c", "d", "e"],
        np.array([-1, 0, 0, 1, -1]),
        np.arange(15.0).reshape(5, 3),
        [["Xposition"], ["Yrotation"], ["Zrotation"], ["Xrotation", "Yrotation"], []],
        [(2, [1, 2, 3]), (3, [4, 5, 6])],
        np.array([[0.0, 1, 2, 3, 4]]),
        0.5,
    )
    write_bvh(tmp_path / "a.bvh", data)
    again, messages = quietly(read_bvh, tmp_path / "a.bvh")
    assert again.names == ["a", "b", "d", "c", "e"] and again.parents.tolist() == [-1, 0, 1, 0, -1]
    assert again.frames.tolist() == [[0, 1, 3, 4, 2]] and len(messages) == 1
    assert [(again.names[j], place.tolist()) for j, place in again.end_sites] == [("d", [4, 5, 6]), ("c", [1, 2, 3])]


# ---- many files -----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    for i in range(7):
        (tmp_path / f"clip{i}.BVH").write_text(FILE.replace(" 90 ", f" {i} "))
    (tmp_path / "clip9.bvh.gz").write_bytes(gzip.compress(FILE.replace(" 90 ", " 9 ").encode()))
    (tmp_path / "notes.txt").write_text("no clip")
    (tmp_path / "deeper").mkdir()
    return tmp_path


def test_load_clips(folder):
    heights = [0, 1, 2, 3, 4, 5, 6, 9]
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes,
    ):
        for options in (dict(), dict(workers=1), dict(workers=5), dict(executor=threads), dict(executor=processes)):
            clips = load_clips(folder, scale=0.5, fps=10, **options)
            assert [clip.root_positions[0, 1] * 2 for clip in clips] == heights
            assert [clip.name for clip in clips] == [f"clip{i}" for i in heights] and {clip.fps for clip in clips} == {10}
        (folder / "clip3.BVH").write_text(FILE.replace(" 91 ", " x "))
        with pytest.raises(BVHError, match=re.escape(f"{folder / 'clip3.BVH'}:20:3: ")):
            load_clips(folder, executor=processes)
    paths = [folder / "clip5.BVH", str(folder / "clip1.BVH"), FILE.encode()]
    assert [clip.root_positions[0, 1] for clip in load_clips(paths)] == [5, 1, 90]
    assert [clip.name for clip in load_clips(folder / "clip2.BVH")] == ["clip2"]
    assert load_clips([]) == []


def test_load_clips_of_bad_files(folder):
    (folder / "clip3.BVH").write_text(FILE.replace(" 91 ", " x "))
    (folder / "clip5.BVH").write_text("")
    for workers in (1, 4):
        with pytest.raises(BVHError, match=re.escape(f"{folder / 'clip3.BVH'}:20:3: ")):
            load_clips(folder, workers=workers)
    clips, messages = quietly(load_clips, folder, errors="warn")
    assert [clip.name[-1] for clip in clips] == list("012469") and len(messages) == 2 and "left out: " in messages[0]
    (folder / "clip3.BVH").write_text(FILE.replace("Frames: 2", "Frames: 3"))
    (folder / "clip5.BVH").unlink()
    clips, messages = quietly(load_clips, folder)
    assert len(clips) == 7 and len(messages) == 1 and "clip3.BVH: Frames: says 3" in messages[0]
    with pytest.raises(FileNotFoundError):
        load_clips([folder / "none.bvh"])


def test_load_clips_of_wrong_arguments(folder):
    with pytest.raises(FileNotFoundError):
        load_clips(folder / "none")
    with pytest.raises(ValueError, match="has no .bvh files"):
        load_clips(folder / "deeper")
    for thing in (None, 5, FILE.encode()):
        with pytest.raises(TypeError, match="folder_or_paths must be a folder or paths"):
            load_clips(thing)
    with pytest.raises(TypeError, match="path must be a path"):
        load_clips([None])
    with pytest.raises(ValueError, match="workers must be at least 1"):
        load_clips(folder, workers=0)
    with pytest.raises(TypeError, match="workers"):
        load_clips(folder, workers=1.5)
    with pytest.raises(TypeError, match="executor must be a concurrent.futures.Executor, got int"):
        load_clips(folder, executor=3)
    with pytest.raises(ValueError, match="errors must be 'raise' or 'warn'"):
        load_clips(folder, errors="ignore")
    with pytest.raises(TypeError):
        load_clips(folder, colour="red")
    with pytest.raises(ValueError, match="scale"):
        load_clips(folder, scale=0)
    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="workers and executor"):
        load_clips(folder, workers=2, executor=threads)


# ---- wrong arguments ---------------------------------------------------------------------------


OPTIONS = [
    (dict(scale=0), ValueError, "scale must be greater than 0"),
    (dict(scale=-1), ValueError, "scale"),
    (dict(scale=np.nan), ValueError, "scale"),
    (dict(scale="cm"), TypeError, "scale"),
    (dict(scale=None), TypeError, "scale"),
    (dict(up="x"), ValueError, "up must be 'y' or 'z'"),
    (dict(up="Z"), ValueError, "up"),
    (dict(up=1), TypeError, "up"),
    (dict(fps=0), ValueError, "fps"),
    (dict(fps=-30), ValueError, "fps"),
    (dict(fps=np.inf), ValueError, "fps"),
    (dict(fps="30"), TypeError, "fps"),
    (dict(fps=True), TypeError, "fps"),
    (dict(root=0), TypeError, "root"),
    (dict(root=""), ValueError, "root"),
    (dict(positions="sum"), ValueError, "positions must be 'replace' or 'add'"),
    (dict(positions=None), TypeError, "positions"),
    (dict(scale=1e308), ValueError, "finite"),
]


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS, ids=lambda value: str(value)[:30])
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        load_bvh(FILE.encode(), **options)


def test_infinite_positions_are_refused():
    text = file_of(("Xposition", "Xposition Yposition Zposition"), ["1e308 1e308 0 5"], offset="1e308 0 0")
    for options in (dict(positions="add"), dict(scale=100), dict(root="b"), dict(up="z", scale=1e9)):
        with pytest.raises(ValueError, match="is not finite"):
            load_bvh(text, **options)
