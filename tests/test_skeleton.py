"""Skeletons and clips against a NumPy loop and their own laws."""

import copy
import pickle

import numpy as np
import pytest
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st

from pfnnc import (
    Clip,
    Skeleton,
    exp_map_to_quat,
    forward_kinematics,
    load_bvh,
    make_gait_clip,
    quat_mul,
    quat_rotate,
    quat_slerp,
    quat_to_exp_map,
)
from pfnnc.skeleton import in_order_of

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


@pytest.mark.parametrize(
    ("frames", "old", "new", "count"), [(100, 120, 30, 25), (31, 30, 60, 61), (1, 30, 60, 1), (61, 60, 24, 25)]
)
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


def test_many_frames_have_the_bits_of_one():
    clip = make_clip(35, translations=True)
    np.testing.assert_array_equal(clip.positions(), np.concatenate([clip[t : t + 1].positions() for t in range(35)]))
    plain = make_clip(35)
    np.testing.assert_array_equal(
        plain.world_rotations(), np.concatenate([plain[t : t + 1].world_rotations() for t in range(35)])
    )
    places, world = forward_kinematics(plain.skeleton, plain.root_positions, plain.rotations)
    np.testing.assert_array_equal(places, plain.positions())
    np.testing.assert_array_equal(world, plain.world_rotations())


def test_several_roots():
    skeleton = Skeleton(["a", "b", "c"], [-1, -1, 1], [[9, 9, 9], [1, 0, 0], [0, 1, 0]])
    clip = Clip(skeleton, np.full((10, 3), 5.0), np.tile([0.0, 0, 0, 1.0], (10, 3, 1)), 30)
    np.testing.assert_array_equal(clip.positions()[9], [[5, 5, 5], [1, 0, 0], [1, -1, 0]])


def test_empty_clips():
    empty = make_clip(translations=True)[20:]
    assert len(empty) == len(empty.resample(60)) == len(empty.mirror()) == len(empty.concat(empty)) == 0
    assert empty.positions().shape == (0, 6, 3)


def test_a_clip_shares_no_memory_with_its_arguments():
    source = make_clip(translations=True)
    arrays = [source.root_positions.copy(), source.rotations.copy(), source.translations.copy()]
    kept = [array.copy() for array in arrays]
    clip = Clip(source.skeleton, arrays[0], arrays[1], 30, translations=arrays[2])
    for array, before in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(array, before)
        array[:] = 7
    np.testing.assert_array_equal(clip.rotations, source.rotations)
    for other in (clip[:], clip.mirror(), clip.resample(30), clip.concat()):
        for name in ("root_positions", "rotations", "translations"):
            array = getattr(other, name)
            assert not np.shares_memory(array, getattr(clip, name))
            assert array.dtype == np.float64 and array.flags.c_contiguous and array.flags.writeable


def test_norms():
    clip = make_clip()
    for scale in (3.0, -1e-200, 1e200):
        other = Clip(clip.skeleton, clip.root_positions, clip.rotations * scale, 30)
        np.testing.assert_allclose(other.rotations, clip.rotations * np.sign(scale), atol=1e-15)
    np.testing.assert_array_equal(Clip(clip.skeleton, clip.root_positions, clip.rotations, 30).rotations, clip.rotations)


def test_copies_and_pickles():
    clip = make_clip(translations=True)
    for other in (pickle.loads(pickle.dumps(clip)), copy.copy(clip), copy.deepcopy(clip)):
        assert other.skeleton == clip.skeleton and other.name == "walk" and other.fps == 30
        np.testing.assert_array_equal(other.positions(), clip.positions())
    skeleton = clip.skeleton
    skeleton.names.append("more")
    assert len(skeleton) == len(skeleton.names) == 6
    with pytest.raises(ValueError):
        skeleton.offsets[0] = 1
    with pytest.raises(AttributeError):
        clip.fps = 60
    assert skeleton != Skeleton(NAMES, PARENTS, np.zeros((6, 3))) and skeleton != "skeleton"
    assert hash(skeleton) == hash(Skeleton(NAMES, PARENTS, skeleton.offsets))


def test_concat_keeps_the_places_of_another_skeleton():
    one, other = make_clip(seed=1), make_clip(seed=2)
    both = one.concat(other)
    np.testing.assert_allclose(both.positions(), np.concatenate([one.positions(), other.positions()]), atol=1e-14)
    with pytest.raises(ValueError, match=r"others\[0\].*names\[5\]='Tail'"):
        one.concat(make_clip(skeleton=Skeleton([*NAMES[:5], "Tail"], PARENTS, np.zeros((6, 3)))))
    with pytest.raises(ValueError, match="parents"):
        one.concat(make_clip(skeleton=Skeleton(NAMES, [-1, 0, 1, 0, 3, 4], np.zeros((6, 3)))))
    with pytest.raises(TypeError, match=r"others\[1\]"):
        one.concat(one, None)


@settings(deadline=None)
@given(
    st.integers(1, 40),
    st.sampled_from([24, 25, 29.97, 30, 60, 100, 120]),
    st.sampled_from([24, 29.97, 30, 48, 60, 120]),
)
def test_resample_is_interpolation(frames, old, new):
    clip = make_clip(frames, old, translations=True)
    other = clip.resample(new)
    assert len(other) == int(np.floor((frames - 1) * new / old + 1e-6)) + 1
    for i in range(len(other)):
        where = min(i / new * old, frames - 1)
        k = min(int(where), max(frames - 2, 0))
        share, after = where - k, min(k + 1, frames - 1)
        place = clip.root_positions[k] * (1 - share) + clip.root_positions[after] * share
        np.testing.assert_allclose(other.root_positions[i], place, atol=1e-7)
        turned = quat_slerp(clip.rotations[k], clip.rotations[after], share)
        np.testing.assert_allclose(np.abs((turned * other.rotations[i]).sum(-1)), 1, atol=1e-7)
    np.testing.assert_array_equal(other.rotations[0], clip.rotations[0])


def test_resample_refuses_what_memory_does_not_hold():
    with pytest.raises(ValueError, match="fps=1000000000000.0 would make"):
        make_clip().resample(1e12)
    with pytest.raises(ValueError, match="fps"):
        make_clip().resample(1e308)


def test_mirror_refuses_pairs_that_are_none():
    clip = make_clip()
    for wrong in ({"LeftFoot": "RightFoot", "LeftUpLeg": "RightFoot"}, {"Hips": "tail"}):
        with pytest.raises(ValueError, match="pairs"):
            clip.mirror(wrong)
    for wrong in (["LeftFoot"], "LeftFoot", 3, {1: 2}, {"LeftFoot": None}):
        with pytest.raises(TypeError, match="pairs"):
            clip.mirror(wrong)
    both_ways = {"LeftFoot": "RightFoot", "RightFoot": "LeftFoot"}
    np.testing.assert_array_equal(clip.mirror(both_ways).rotations, clip.mirror({"LeftFoot": "RightFoot"}).rotations)


# a rig's left leg, its marks of left and right, and where in the leg the ankle and the toe are
LEGS = {
    "CMU": ("LHipJoint LeftUpLeg LeftLeg LeftFoot LeftToeBase", None, 3, 4),
    "CMU, ASF": ("lhipjoint lfemur ltibia lfoot ltoes", "l r", 3, 4),
    "CMU, Poser": ("lButtock lThigh lShin lFoot", "l r", 3, None),
    "Mixamo": (
        "mixamorig:LeftUpLeg mixamorig:LeftLeg mixamorig:LeftFoot mixamorig:LeftToeBase mixamorig:LeftToe_End",
        "Left Right",
        2,
        3,
    ),
    "Rokoko": ("LeftThigh LeftShin LeftFoot LeftToe", "Left Right", 2, 3),
    "Xsens": ("LeftHip LeftKnee LeftAnkle LeftToe", "Left Right", 2, 3),
    "LAFAN1": ("LeftUpLeg LeftLeg LeftFoot LeftToe", "Left Right", 2, 3),
    "Bandai-Namco": ("UpperLeg_L LowerLeg_L Foot_L Toes_L", "_L _R", 2, 3),
    "the pack": ("lHip lKnee lAnkle lToeJoint", "l r", 2, 3),
    "SMPL": ("left_hip left_knee left_ankle left_foot", "left right", 2, 3),
    "SMPL, capitals": ("L_Hip L_Knee L_Ankle L_Toe", "L_ R_", 2, 3),
    "Unreal": ("thigh_l calf_l foot_l ball_l", "_l _r", 2, 3),
    "Biped": ("Bip01~L~Thigh Bip01~L~Calf Bip01~L~Foot Bip01~L~Toe0", "~L~ ~R~", 2, 3),
    "VRM": ("J_Bip_L_UpperLeg J_Bip_L_LowerLeg J_Bip_L_Foot J_Bip_L_ToeBase", "_L_ _R_", 2, 3),
    "Rigify": ("DEF-thigh.L DEF-shin.L DEF-foot.L DEF-toe.L", ".L .R", 2, 3),
    "Kinect": ("HipLeft KneeLeft AnkleLeft FootLeft", "Left Right", 2, 3),
}


@pytest.mark.parametrize("rig", LEGS)
def test_pairs_and_feet_of_the_usual_rigs(rig):
    text, marks, ankle, toe = LEGS[rig]
    left = [name.replace("~", " ") for name in text.split()]
    a, b = (mark.replace("~", " ") for mark in marks.split()) if marks else ("", "")
    right = [name.replace(a, b, 1) if marks else name.replace("Left", "Right").replace("LHip", "RHip") for name in left]
    n = len(left)
    names = ["Root", *left, *right, "Spine", "LowerBack", "lowerneck", "Reference"]
    parents = [-1, 0, *range(1, n), 0, *range(n + 1, 2 * n), 0, 0, 0, 0]
    skeleton = Skeleton(names, parents, np.zeros((len(names), 3)))
    assert skeleton.find_pairs() == dict(zip(left, right, strict=True))
    feet = [ankle] if toe is None else [ankle, toe]
    assert skeleton.find_feet() == ([1 + j for j in feet], [1 + n + j for j in feet])


def test_feet_that_names_do_not_tell():
    for names in (["base", "child1", "child2"], ["Hips", "LeftFoot", "Spine"]):
        with pytest.raises(ValueError, match=r"feet=\(left, right\)"):
            Skeleton(names, [-1, 0, 0], np.zeros((3, 3))).find_feet()
    names = ["root", "calf_l", "foot_l", "calf_r", "foot_r", "ik_foot_root", "ik_foot_l", "ik_foot_r"]
    unreal = Skeleton(names, [-1, 0, 1, 0, 3, 0, 5, 5], np.zeros((8, 3)))
    assert unreal.find_feet() == ([2], [4])


@pytest.mark.filterwarnings("ignore::UserWarning")  # what a reader says of odd files
def test_recordings_mirror_twice_to_the_bit():
    for path in sorted(shared("clips").glob("*/*.bvh")):
        clip = load_bvh(path, fps=60, root="Hips" if path.parent.name == "bandai" else None)[:40]
        back = clip.mirror().mirror()
        assert back.rotations.tobytes() == clip.rotations.tobytes(), path
        assert back.root_positions.tobytes() == clip.root_positions.tobytes(), path
        places, world = positions_by_loop(clip)
        np.testing.assert_allclose(clip.positions(), places, atol=1e-11 * np.abs(places).max(), err_msg=str(path))


NOT_ARRAYS = [
    None,
    "abc",
    {},
    object(),
    np.ones(3, complex),
    np.ones((5, 6, 3), object),
    [[1, 2], [3]],
    np.ones((4, 4)),
    1.0,
    [],
]


@pytest.mark.parametrize("wrong", NOT_ARRAYS, ids=repr)
@pytest.mark.parametrize("name", ["root_positions", "rotations", "translations", "offsets", "parents"])
def test_wrong_arrays(name, wrong):
    good = make_clip()
    arguments = {"root_positions": good.root_positions, "rotations": good.rotations, "translations": None}
    if name == "translations" and wrong is None:
        return
    with pytest.raises((TypeError, ValueError), match=name):
        if name in arguments:
            Clip(good.skeleton, **(arguments | {name: wrong}), fps=30)
        else:
            Skeleton(NAMES, **({"parents": PARENTS, "offsets": np.zeros((6, 3))} | {name: wrong}))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"fps": 0}, ValueError, "fps must be greater than 0"),
        ({"fps": np.nan}, ValueError, "fps must be finite"),
        ({"fps": "30"}, TypeError, "fps must be a number"),
        ({"name": 3}, TypeError, "name must be a string"),
        ({"skeleton": NAMES}, TypeError, "skeleton must be a Skeleton"),
    ],
)
def test_wrong_options_of_a_clip(options, error, words):
    good = make_clip()
    arguments = {
        "skeleton": good.skeleton,
        "root_positions": good.root_positions,
        "rotations": good.rotations,
        "fps": 30,
    }
    with pytest.raises(error, match=words):
        Clip(**(arguments | options))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"names": "ab"}, TypeError, "names must be a sequence of strings"),
        ({"names": ["a", 3]}, TypeError, r"names\[1\] must be a string"),
        ({"names": ["a", ""]}, ValueError, r"names\[1\]='' is empty"),
        ({"names": []}, ValueError, "at least one joint"),
        ({"parents": [0, 0]}, ValueError, r"parents\[0\]=0"),
        ({"parents": [-1, -2]}, ValueError, r"parents\[1\]=-2"),
        ({"parents": [-1.0, 0.0]}, TypeError, "parents must be integers"),
        ({"offsets": [[0, 0, 0], [0, np.inf, 0]]}, ValueError, r"offsets\[1, 1\]=inf"),
        ({"channels": [["Xrotation"]]}, ValueError, "2 joints, got 1"),
        ({"channels": [["Xrotation", "xROTATION"], []]}, ValueError, r"channels\[0\]\[1\].*twice"),
        ({"channels": [["Wrotation"], []]}, ValueError, r"channels\[0\]\[0\]='Wrotation' must be one of"),
        ({"channels": ["Xrotation", []]}, TypeError, r"channels\[0\] must be a sequence"),
        ({"end_sites": [(2, [0, 0, 0])]}, ValueError, r"end_sites\[0\]\[0\] must be in 0..1"),
        ({"end_sites": [(0, [0, 0])]}, ValueError, r"end_sites\[0\]\[1\] must have shape"),
        ({"end_sites": [3]}, ValueError, r"end_sites\[0\] must be a pair"),
    ],
)
def test_wrong_options_of_a_skeleton(options, error, words):
    with pytest.raises(error, match=words):
        Skeleton(**({"names": ["a", "b"], "parents": [-1, 0], "offsets": np.zeros((2, 3))} | options))


def test_small_turns_survive():
    """A step of a millionth of a degree is neither lost nor doubled by resampling."""
    clip = make_clip(2)
    still = Clip(
        clip.skeleton,
        np.zeros((2, 3)),
        exp_map_to_quat(np.array([0.0, 1.7e-8])[:, None, None] * np.ones((2, 6, 3))),
        30,
    )
    np.testing.assert_allclose(quat_to_exp_map(still.resample(60).rotations[1]), 0.85e-8, rtol=1e-9)


def by_depth(clip):
    """The same motion with the joints in another order: by depth, the last ones first."""
    own = clip.skeleton
    depth = [0] * len(own)
    for j, parent in enumerate(own.parents.tolist()):
        depth[j] = depth[parent] + 1 if parent >= 0 else 0
    order = sorted(range(len(own)), key=lambda j: (depth[j], -j))
    parents = [-1 if own.parents[j] < 0 else order.index(own.parents[j]) for j in order]
    ends = [(order.index(joint), place) for joint, place in own.end_sites]
    channels = [own.channels[j] for j in order]
    skeleton = Skeleton([own.names[j] for j in order], parents, own.offsets[order], channels=channels, end_sites=ends)
    translations = None if clip.translations is None else clip.translations[:, order]
    return Clip(skeleton, clip.root_positions, clip.rotations[:, order], clip.fps, clip.name, translations=translations)


def test_joints_are_put_in_the_order_of_another_skeleton():
    clip = make_gait_clip("walk", seconds=0.5).clip
    other = by_depth(clip)
    assert other.skeleton.names != clip.skeleton.names
    back = in_order_of(other, clip.skeleton)
    assert back.skeleton.names == clip.skeleton.names and np.array_equal(back.rotations, clip.rotations)
    assert np.array_equal(back.positions(), clip.positions()) and back.skeleton.channels == clip.skeleton.channels
    assert {(j, *p) for j, p in back.skeleton.end_sites} == {(j, *p) for j, p in clip.skeleton.end_sites}
    moved = Clip(clip.skeleton, clip.root_positions, clip.rotations, 30, translations=clip.positions())
    assert np.array_equal(in_order_of(by_depth(moved), clip.skeleton).translations, moved.translations)
    assert in_order_of(clip, clip.skeleton) is clip
    for parents in ([-1, 0, 0], [-1, 0, 1]):
        skeleton = Skeleton(["a", "b", "c"], parents, np.zeros((3, 3)))
        assert in_order_of(clip, skeleton) is None
    one, two = (Skeleton(["a", "b", "c"], parents, np.zeros((3, 3))) for parents in ([-1, 0, 0], [-1, 0, 1]))
    still = np.tile([1.0, 0, 0, 0], (1, 3, 1))
    assert in_order_of(Clip(one, [[0, 0, 0]], still, 30), two) is None  # another tree
