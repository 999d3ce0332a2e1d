"""Clips played at other speeds: windows made between the frames there are, against clips resampled and encoded anew."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_dataset import LEVEL, rows_and_phase
from test_features import NAMES, SKELETON, random_clip

from pfnnc import (
    Clip,
    FeatureSpec,
    Normalizer,
    SimplifiedPFNN,
    Skeleton,
    Trainer,
    Trajectory,
    WindowDataset,
    _core,
    exp_map_to_quat,
    make_gait_clip,
    quat_conj,
    quat_mul,
    quat_to_exp_map,
    quat_to_matrix,
)
from pfnnc._augment import frames_inside, played_length

SPEEDS = (0.7, 1.0, 1.13, 2.0, 2.5)


@pytest.fixture(scope="module")
def walk():
    return make_gait_clip("walk", seconds=4, turn_rate=[(0, 1.5), (4, -2.0)], seed=1)


def faster(clip, speed):
    """The same motion `speed` times as fast, by the clip's own means."""
    return Clip(clip.skeleton, clip.root_positions, clip.rotations, clip.fps * speed).resample(clip.fps)


def rows_at(clip, spec, speed, dtype=np.float64, phase=None, **options):
    """All frames of a clip at a speed but the last one."""
    phase = np.zeros(len(clip)) if phase is None else phase
    sizes = {"input_len": 1, "output_len": 1, "stride": 1}
    return WindowDataset([clip], spec, [phase], speeds=[speed], dtype=dtype, **sizes, **options).arrays()[0][:, 0]


def largest_turn(clip):
    """Radians that any joint turns from one frame to the next, at most."""
    steps = quat_to_exp_map(quat_mul(quat_conj(clip.rotations[:-1]), clip.rotations[1:]))
    return np.linalg.norm(steps, axis=-1).max()


def away(ours, other, spec):
    """The largest difference in each slice; quaternions up to the sign that the first frame has."""
    slices, error = dict(spec.slices), np.abs(ours - other)
    if spec.representation == "quat":
        for start in range(3, slices["joints"].stop, 4):
            own = slice(start, start + 4)
            error[:, own] = np.minimum(error[:, own].max(1), np.abs(ours[:, own] + other[:, own]).max(1))[:, None]
    if spec.points:
        begin, n = slices.pop("points").start, 3 * len(spec.points)
        slices |= {"positions": slice(begin, begin + n), "velocities": slice(begin + n, begin + 2 * n)}
    return {name: error[:, part].max(initial=0) for name, part in slices.items()}


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("frame", ["world", "heading"])
@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
def test_rows_are_those_of_the_faster_clip(walk, representation, frame, speed):
    """As near as straight lines are to the arcs between two frames.

    Root places are interpolated alike, so height and, in the world, velocity agree to the last digits. A joint that
    turns by t between two frames is on an arc, from which a straight line is t²/8 radii away at most; the way a clip
    interpolates the yaw of a tilted root differs by as much. A point's sagitta is an eighth of its second difference.
    """
    clip = walk.clip
    spec = FeatureSpec(clip.skeleton.names, representation, frame, True, True, ("LeftFoot", "LeftHand"), True)
    labels = SimpleNamespace(phase=np.zeros(len(clip)), contacts=np.stack([walk.phase < 0.6, walk.phase > 0.5], axis=1))
    fast, ours = faster(clip, speed), rows_at(clip, spec, speed, phase=labels)
    near = np.rint(np.minimum(np.arange(len(fast)) * speed, len(clip) - 1)).astype(int)
    expected = spec.encode(fast, contacts=labels.contacts[near])
    assert len(ours) == len(fast) - 1
    error = away(ours, expected[:-1], spec)

    arc = largest_turn(clip) ** 2 / 8
    assert arc < 0.02
    points = clip.positions()[:, [clip.skeleton.index(name) for name in spec.points]]
    bend = np.linalg.norm(np.diff(points, 2, axis=0), axis=-1).max()
    assert error["height"] < 1e-12 and error["contacts"] == 0
    assert error["velocity"] < (1e-11 if frame == "world" else arc * np.abs(expected[:, :3]).max())
    assert error["orientation"] < 2 * arc and error["joints"] < 2 * arc and error["yaw_rate"] < arc * clip.fps / 10
    assert error["positions"] < bend / 8 * 2 and error["velocities"] < bend / 8 * 4 * clip.fps


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
def test_even_motion_is_exact(representation, speed):
    """Straight on, and round a circle, at an even pace: nothing is lost between frames."""
    t = np.arange(60) / 30
    straight = np.stack([0.3 * t, 1 + 0.1 * t, 1.4 * t], axis=1)
    circle = np.stack([1 - np.cos(2.2 * t), 1 + 0 * t, np.sin(2.2 * t)], axis=1)
    still = np.tile(random_clip(1).rotations, (60, 1, 1))
    still[:, 0] = exp_map_to_quat([0, 0.4, 0])
    turning = still.copy()
    turning[:, 0] = exp_map_to_quat(t[:, None] * [0, 2.2, 0])
    for root, rotations in ((straight, still), (circle, turning)):
        clip = Clip(SKELETON, root, rotations, 30)
        spec = FeatureSpec(NAMES[1:], representation, "heading", True, True, ("Hips",))
        expected = spec.encode(faster(clip, speed))[:-1]
        assert max(away(rows_at(clip, spec, speed), expected, spec).values()) < 1e-12
        world = FeatureSpec(NAMES[1:], representation, points=("Hips",))  # no yaw rate: the turn is in the orientation
        error = away(rows_at(clip, world, speed), world.encode(faster(clip, speed))[:-1], world)
        assert error.pop("orientation") < 1e-4 and max(error.values()) < 1e-12


@pytest.mark.parametrize("joints", [1, 15, 16, 17, 40])
@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
def test_rotations_take_the_shorter_way(representation, joints):
    """Through full turns, where rotation vectors change sides at pi, and with quaternions of any sign; any joint count."""
    rng = np.random.default_rng(joints)
    axes, t = rng.normal(size=(joints, 3)), np.arange(80)[:, None, None] / 30
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    clip = Clip(
        Skeleton([f"j{i}" for i in range(joints)], range(-1, joints - 1), np.zeros((joints, 3))),
        np.zeros((80, 3)),
        exp_map_to_quat(axes * t * rng.uniform(1, 5, (joints, 1))),
        30,
    )
    spec = FeatureSpec(joints, representation)
    rows, fast = spec.encode(clip), faster(clip, 0.6)
    if representation == "quat":  # as another program may write them
        flips = rng.choice([-1, 1], (80, joints + 1, 1))
        rows[:, 3:] = (rows[:, 3:].reshape(80, joints + 1, 4) * flips).reshape(80, -1)
    got = spec.decode(rows_at(rows, spec, 0.6, fps=30), skeleton=clip.skeleton).rotations
    turn = largest_turn(clip)
    assert 0.1 < turn < 0.2 and np.abs(quat_to_matrix(got) - quat_to_matrix(fast.rotations[:-1])).max() < turn**2 / 8


def test_speed_one_is_what_is_stored(walk):
    spec = FeatureSpec.controller(walk.clip.skeleton.names)
    options = {"input_len": 2, "output_len": 3, "stride": 1}
    normalizer = Normalizer("all").fit(spec.encode(walk.clip))
    plain = WindowDataset([walk.clip], spec, [walk.phase], normalizer=normalizer, **options)
    several = WindowDataset([walk.clip], spec, [walk.phase], normalizer=normalizer, speeds=(0.8, 1.0, 1.25), **options)
    assert np.array_equal(several.frames[0], plain.frames[0])
    same = np.flatnonzero(several.speed == 1)
    for ours, theirs in zip(several.batch(same), plain.arrays(), strict=True):
        assert np.array_equal(ours, theirs)
    for call in ("control", "root", "phase", "phase_step"):
        assert np.array_equal(getattr(several, call)(same, 1), getattr(plain, call)(np.arange(len(plain)), 1))


def test_speeds_take_no_memory(walk):
    clips = [walk.clip, walk.clip.mirror()]
    spec = FeatureSpec(clips[0].skeleton.names)
    sizes = []
    for speeds in ((1.0,), tuple(np.linspace(0.5, 2, 31))):
        data = WindowDataset(clips, spec, [walk.phase] * 2, speeds=speeds)
        arrays = [*data.frames, *data.phases, *data.tracks]
        sizes.append((len(arrays), sum(array.nbytes for array in arrays)))
        held = [value for value in vars(data).values() if isinstance(value, np.ndarray)]
        assert all(value.shape in ((2,), (len(data),)) for value in held)  # besides, a few numbers a clip or window
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_type_and_normalizer(walk, stored, dtype):
    spec = FeatureSpec.controller(walk.clip.skeleton.names, frame="heading")
    rows = spec.encode(walk.clip).astype(stored)
    normalizer = Normalizer("all").fit(rows)
    exact = normalizer.transform(rows_at(rows.astype(np.float64), spec, 1.3, fps=30))
    data = WindowDataset([rows], spec, [np.zeros(len(rows))], input_len=1, output_len=1, stride=1, fps=30, speeds=[1.3],
                         normalizer=normalizer, dtype=dtype)  # fmt: skip
    data.frames = (rows,)  # of their own type, as a data set on the disk has them
    data._connect()
    X = data.arrays()[0][:, 0]
    assert X.dtype == dtype and np.abs(X - exact).max() < (1e-9 if dtype == np.float64 else 1e-3)


def smooth_clip(frames=90, seed=0):
    """A wandering clip in which little turns between frames."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None] / 30

    def waves(n):
        return (rng.normal(0, 0.3, n) * np.sin(t * rng.uniform(1, 4, n) + rng.uniform(0, 6, n))).reshape(frames, -1, 3)

    rotations = exp_map_to_quat(waves(3 * len(NAMES)))
    rotations[:, 0] = quat_mul(exp_map_to_quat(t * [0, 0.7, 0]), rotations[:, 0])
    return Clip(LEVEL, waves(3)[:, 0] + t * [0.2, 0, 1.2] + [0, 1, 0], rotations, 30)


def controlled(clips, phases, **options):
    spec = FeatureSpec.controller(NAMES, points=("LeftFoot_end", "RightFoot_end"), control=Trajectory((-0.3, 0.25, 0.9)))
    return WindowDataset(clips, spec, phases, input_len=2, output_len=4, stride=3, dtype=np.float64, **options)


def phase_between(phase, speed, count):
    """The twin: frame by frame."""
    result = []
    for k in range(count):
        at = min(round(k * speed, 9), len(phase) - 1)
        i, share = int(at), at - int(at)
        step = (phase[min(i + 1, len(phase) - 1)] - phase[i] + 0.5) % 1 - 0.5
        result.append(phase[i] if share == 0 else (phase[i] + share * step) % 1)
    return np.array(result)


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("speed", SPEEDS)
def test_phase_root_and_control_go_along(speed, mirror):
    """What stands beside the windows is that of the faster clip too, for mirrored windows as well."""
    clips = [smooth_clip(150, seed) for seed in range(2)]
    phases = [np.linspace(seed / 10, 3, len(clip)) % 1 for seed, clip in enumerate(clips)]
    phases[0][20:26] = np.nan
    data = controlled(clips, phases, speeds=(0.9, speed), mirror=mirror)
    fast = [faster(clip, speed) for clip in clips]
    quick = [phase_between(phase, speed, len(clip)) for phase, clip in zip(phases, fast, strict=True)]
    other = controlled(fast, quick, mirror=mirror)
    ours, theirs = np.flatnonzero(data.speed == speed), np.arange(len(other))
    assert np.array_equal(data.starts[ours], other.starts) and np.array_equal(data.clip_index[ours], other.clip_index)
    assert np.array_equal(data.mirrored[ours], other.mirrored)
    arc = max(largest_turn(clip) for clip in clips) ** 2 / 8
    assert arc < 1e-3
    assert np.abs((data.batch(ours)[2] - other.batch(theirs)[2] + 0.5) % 1 - 0.5).max() < 1e-9
    for step in (-1, 0, 4):
        for call, circle in (("phase", 1), ("phase_step", 30)):
            a, b = getattr(data, call)(ours, step), getattr(other, call)(theirs, step)
            assert np.array_equal(np.isnan(a), np.isnan(b)) and np.isfinite(b).any()
            assert np.nanmax(np.abs((a - b + circle / 2) % circle - circle / 2)) < 1e-7
        root = other.root(theirs, step)
        assert np.abs(data.root(ours, step) - root)[:, :2].max() < 1e-12
        assert np.abs(np.sin(data.root(ours, step) - root))[:, 2].max() < arc
        # beyond the last frame of the faster clip, which ends a little before its source, paths go on by a mean
        frame = other.starts + 1 + step
        inside = (frame >= 0.3 * 30) & (frame + 0.9 * 30 <= [len(fast[c]) - 1 for c in other.clip_index])
        assert inside.any()
        for own in (None, root + [0.1, -0.2, 0.3]):
            error = np.abs(data.control(ours, step, root=own) - other.control(theirs, step, root=own))
            assert error[inside].max() < 3 * arc * max(1, speed**2)  # lines between the faster clip's own frames
    points = data.spec.slices["points"]
    for a, b in zip(data.batch(ours)[:2], other.batch(theirs)[:2], strict=True):
        assert np.abs(a - b)[..., : points.start].max() < 3 * arc
        assert np.abs(a - b)[..., points].max() < 0.05


def test_a_phase_on_the_way_round_and_none_beside_a_gap():
    phase = np.array([0.9, 0.1, 0.1, np.nan, 0.7, 1.0, 1.0])
    sizes = {"input_len": 1, "output_len": 1, "stride": 1}
    data = WindowDataset([np.zeros((7, 15))], FeatureSpec(2), [phase], fps=30, speeds=[0.5], **sizes)
    assert data.starts.tolist() == [0, 1, 2, 3, 4, 8, 9, 10, 11]  # of 13 frames
    expected = [0.9, 0.0, 0.1, 0.1, 0.1, np.nan, np.nan, np.nan, 0.7, 0.85, 1.0]
    got = np.array([data.phase([0], step)[0] for step in range(11)])
    assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert np.isnan(data.phase([0], 13)) and np.isnan(data.phase([0], -1))


def test_statistics_and_mean_velocity_are_those_of_what_is_seen():
    clips = [smooth_clip(120, seed) for seed in range(3)]
    spec, speeds = FeatureSpec(NAMES, frame="world"), (0.5, 1.0, 2.0)
    phases = [np.arange(120) / 30 % 1] * 3
    data = WindowDataset(clips, spec, phases, speeds=speeds, normalizer=Normalizer(), dtype=np.float64, stride=1)
    mine = Normalizer().fit([spec.encode(faster(clip, speed)) for clip in clips for speed in speeds])
    assert data.normalizer.mean_ == pytest.approx(mine.mean_, abs=1e-9)
    assert data.normalizer.scale_ == pytest.approx(mine.scale_, abs=1e-9)
    _, Y, P = data.arrays()
    Y = mine.inverse_transform(Y)
    table = [Y[np.floor(P * 4) == k, 0, :3].mean(axis=0) for k in range(4)]
    assert data.mean_velocity(4) == pytest.approx(np.array(table), abs=1e-9)


# ---- split


def shown(dataset):
    """Of each clip the frames that its windows show, and those that the first one's velocity is from."""
    window = dataset.input_len + dataset.output_len
    frames = set()
    for clip, start, speed in zip(dataset.clip_index, dataset.starts, dataset.speed, strict=True):
        first, last = start * speed, (start + window - 1) * speed
        way = max(start - 1, 0) * speed  # the velocities of the frames after it
        begin = min(np.floor(first + 1e-9), np.floor(way + 1e-9) + 1)
        frames |= {(int(clip), f) for f in range(int(begin), int(np.ceil(last - 1e-9)) + 1)}
    return frames


@pytest.mark.parametrize("by", ["clip", "block"])
@pytest.mark.parametrize("speeds", [(0.87, 1.0, 1.13), (2.0, 0.5), (1.7,)])
@pytest.mark.parametrize("declared", [False, True])
def test_no_frame_is_seen_on_both_sides(by, speeds, declared):
    """Frames between which a window looks count for it; mirrored copies are the same frames."""
    clips = [Clip(LEVEL, c.root_positions, c.rotations, 30) for c in (random_clip(300, seed) for seed in range(4))]
    clips += [clip.mirror() for clip in clips]
    groups = [0, 1, 2, 3] * 2 if declared else None
    sizes = {"input_len": 4, "output_len": 2}
    data = WindowDataset(clips, FeatureSpec(8), [np.zeros(300)] * 8, speeds=speeds, groups=groups, mirror=True, **sizes)
    for seed in range(4):
        parts = data.split(0.3, by, seed)
        train, held = ({(clip % 4, frame) for clip, frame in shown(part)} for part in parts)
        assert train and held and not train & held
        assert all({*part.speed} == {*speeds} for part in parts)
        if by == "block":
            ours, theirs = (np.array([clip * 1000 + frame for clip, frame in side]) for side in (train, held))
            assert np.abs(ours[:, None] - theirs).min() > 6 * max(speeds)
        for shift in range(1, 4):
            moved = {(clip % 4, frame) for clip, frame in shown(parts[0].shifted(shift))}
            assert not moved & held


@pytest.mark.parametrize("speeds", [(1.0,), (0.8, 1.25)])
def test_no_frame_of_a_path_is_seen_on_both_sides(speeds):
    """Control blocks look ahead and back: what they see of the other side's path would be known to the training."""
    clips = [smooth_clip(400, seed) for seed in range(3)]
    data = controlled(clips, [np.arange(400) / 30 % 1] * 3, speeds=speeds, mirror=True)
    for seed in range(4):
        sides = []
        for part in data.split(0.2, "block", seed):
            seen = shown(part)
            for step in (0, part.output_len):
                frame = (part.starts + part.input_len - 1 + step) * part.speed
                for time in data.spec.control.times:
                    at = np.clip(frame + time * 30 * part.speed, 0, 399)
                    seen |= {*zip(part.clip_index.tolist(), np.floor(at).astype(int).tolist(), strict=True)}
                    seen |= {*zip(part.clip_index.tolist(), np.ceil(at).astype(int).tolist(), strict=True)}
            sides.append(seen)
        assert sides[0] and sides[1] and not sides[0] & sides[1]


@given(
    begin=st.integers(0, 40),
    length=st.integers(0, 60),
    speed=st.sampled_from([0.01, 0.3, 0.5, 0.87, 1.0, 1.13, 2.0, 7.3, 100.0]),
)
@settings(max_examples=100, deadline=None)
def test_frames_inside_a_part_show_nothing_else(begin, length, speed):
    """All other frames may hold anything: what is gathered stays the same."""
    frames, spec = 70, FeatureSpec(1, frame="heading")
    end = min(begin + length, frames)
    inside = np.array(frames_inside(begin, end, speed, frames), np.int64)
    assert not len(inside) or (inside[0] >= 0 and inside[-1] < played_length(frames, speed))
    rows, _ = rows_and_phase(frames, spec=spec)
    mine = (np.arange(frames) >= begin) & (np.arange(frames) < end)
    results = []
    for values in (rows, np.where(mine[:, None], rows, np.nan)):
        out, clip = np.empty((len(inside), 1, spec.dim)), np.zeros(len(inside), np.int64)
        source = _core.ClipArrays((values,))
        source.gather(out, None, clip, inside, *(None,) * 5, np.full(len(inside), speed), spec.layout, 30.0)
        results.append(out)
    assert np.array_equal(*results) and np.isfinite(results[1]).all()


# ---- training


@pytest.mark.parametrize("rollout", [1, 3])
def test_training_sees_the_faster_motion(rollout):
    """The same loss, as near as the windows are, as from clips that were resampled: the control block goes along."""
    clips = [smooth_clip(90, seed) for seed in range(2)]
    phases = [np.linspace(0, 3, len(clip)) % 1 for clip in clips]
    fast = [faster(clip, 1.3) for clip in clips]
    quick = [phase_between(phase, 1.3, len(clip)) for phase, clip in zip(phases, fast, strict=True)]
    spec = FeatureSpec(NAMES, "6d", "heading", control=Trajectory((-0.3, 0.25, 0.9)), phase_step=True)
    losses = []
    for takes, own, speeds in ((clips, phases, (1.3,)), (fast, quick, (1.0,))):
        sizes = {"input_len": 2, "output_len": 4, "stride": 3, "dtype": np.float64}
        data = WindowDataset(takes, spec, own, speeds=speeds, mirror=True, **sizes)
        model = SimplifiedPFNN(spec.in_dim(2), spec.out_dim, hidden=16, n_kernels=4, init="he", seed=0, dtype=np.float64)
        trainer = Trainer(model, rollout=rollout, phase_weight=0.5, trajectory_weight=0.5)
        losses.append([report.loss for report in trainer.fit(data, epochs=2, progress=False).history])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3) and losses[0] != losses[1]


def test_batches_from_several_threads_have_the_same_bits(walk):
    spec = FeatureSpec.controller(walk.clip.skeleton.names)
    sizes = {"input_len": 2, "output_len": 3, "stride": 1}
    data = WindowDataset([walk.clip], spec, [walk.phase], speeds=(0.8, 1.0, 1.2), mirror=True, **sizes)
    orders = [np.random.default_rng(i).integers(0, len(data), 100) for i in range(8)]
    expected = [data.batch(order) for order in orders]
    with ThreadPoolExecutor(4) as threads:
        for got, wanted in zip(threads.map(data.batch, orders * 4), expected * 4, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
    alone = [np.concatenate(parts) for parts in zip(*[data.batch([i]) for i in orders[0]], strict=True)]
    assert all(np.array_equal(a, b) for a, b in zip(alone, expected[0], strict=True))  # whatever stands beside it


# ---- arguments


@pytest.mark.parametrize(
    ("speeds", "error"),
    [
        ((), ValueError), ((0,), ValueError), ((-1.0,), ValueError), ((np.nan,), ValueError), ((1, 1.0), ValueError),
        ((1e-9,), ValueError), ((1e9,), ValueError), (("1",), TypeError), (1.0, TypeError), ("1", TypeError),
        (None, TypeError), ((True,), TypeError),
    ],
)  # fmt: skip
def test_wrong_speeds(speeds, error):
    with pytest.raises(error, match="speeds"):
        WindowDataset([random_clip(40)], FeatureSpec(8), [np.zeros(40)], speeds=speeds)


def test_arrays_need_their_rate():
    arrays = [np.zeros((40, 15))], FeatureSpec(2), [np.zeros(40)]
    with pytest.raises(ValueError, match="fps must be given for clips that are arrays"):
        WindowDataset(*arrays, speeds=(1, 2))
    assert len(WindowDataset(*arrays, speeds=(1, 2), fps=30)) == 6 + 1


def test_short_clips_are_left_out_at_the_speeds_where_they_are_short():
    spec, phases = FeatureSpec(8), [np.zeros(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = WindowDataset([random_clip(40)], spec, phases, speeds=(1.0, 5.0))
    assert set(data.speed) == {1.0}
    with pytest.warns(UserWarning, match=r"clips\[0\] \(random\) has 40 frames: shorter than a window"):
        assert len(WindowDataset([random_clip(40)], spec, phases, speeds=(5.0, 4.0))) == 0


def test_the_core_refuses_windows_that_are_not_there():
    spec = FeatureSpec(8)
    source, out = _core.ClipArrays((spec.encode(random_clip(40)),)), np.empty((1, 3, spec.dim))
    for start, speed, fps, text in [
        (18, 2.0, 30.0, "not inside a clip of 20"), (-1, 2.0, 30.0, "not inside"), (0, 0.0, 30.0, "speed"),
        (0, np.nan, 30.0, "speed"), (0, -1.0, 30.0, "speed"), (0, 1e300, 30.0, "speed"), (0, 2.0, 0.0, "rate"),
        (2**62, 0.5, 30.0, "not inside"), (2**62, 1e-300, 30.0, "speed"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            source.gather(out, None, [0], [start], *(None,) * 5, np.array([speed]), spec.layout, fps)
    with pytest.raises(ValueError, match="layout"):
        source.gather(out, None, [0], [0], *(None,) * 5, np.array([2.0]), FeatureSpec(1).layout, 30.0)
    with pytest.raises(TypeError, match="layout"):
        source.gather(out, None, [0], [0], *(None,) * 5, np.array([2.0]))
