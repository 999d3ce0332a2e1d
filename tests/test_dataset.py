import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import shared
from hypothesis import given, settings
from hypothesis import strategies as st
from test_features import NAMES, OFFSETS, PARENTS, POINTS, SITES, SKELETON, random_clip

from pfnnc import Clip, FeatureSpec, Normalizer, Skeleton, Trajectory, WindowDataset, load_bvh, make_windows

SPEC = FeatureSpec(2)
LEVEL = Skeleton(NAMES, PARENTS, OFFSETS, end_sites=SITES[:2])  # left and right alike


def rows_and_phase(frames, seed=0, dtype=np.float64, spec=SPEC, missing=0.0):
    rng = np.random.default_rng(seed)
    phase = rng.random(frames)
    phase[rng.random(frames) < missing] = np.nan
    return rng.normal(size=(frames, spec.dim)).astype(dtype), phase


def plain_windows(features, phase, input_len, output_len, stride):
    """The twin: a loop."""
    X, Y, P, s = [], [], [], 0
    while s + input_len + output_len <= len(features):
        if not np.isnan(phase[s + input_len - 1]):
            X.append(features[s : s + input_len])
            Y.append(features[s + input_len : s + input_len + output_len])
            P.append(phase[s + input_len - 1])
        s += stride
    return X, Y, P


# ---- make_windows


@pytest.mark.parametrize(("frames", "count"), [(12, 0), (13, 1), (16, 1), (17, 2), (20, 2), (40, 7), (100, 22), (1000, 247)])
def test_counting_windows(frames, count):  # U44
    X, Y, P = make_windows(np.zeros((frames, 5)), np.zeros(frames), 12, 1)
    assert (X.shape, Y.shape, P.shape) == ((count, 12, 5), (count, 1, 5), (count,))


@given(
    frames=st.integers(0, 60),
    input_len=st.integers(1, 15),
    output_len=st.integers(1, 9),
    stride=st.integers(1, 9),
    missing=st.sampled_from([0, 0.3, 1]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60, deadline=None)
def test_windows_are_those_of_a_loop(frames, input_len, output_len, stride, missing, dtype):
    features, phase = rows_and_phase(frames, frames, dtype, missing=missing)
    X, Y, P = make_windows(features, phase, input_len, output_len, stride)
    x, y, p = plain_windows(features, phase, input_len, output_len, stride)
    assert X.dtype == Y.dtype == P.dtype == dtype
    assert np.array_equal(X, np.reshape(x, X.shape)) and np.array_equal(Y, np.reshape(y, Y.shape))
    assert np.array_equal(P, np.array(p, dtype))


def test_make_windows_takes_lists_integers_and_strides():
    X, Y, P = make_windows([[1, 2], [3, 4], [5, 6]], [0, 0.5, 1], 1, 1, 1)
    assert X.dtype == np.float64 and X.tolist() == [[[1, 2]], [[3, 4]]] and P.tolist() == [0, 0.5]
    wide = np.random.default_rng(0).normal(size=(50, 20))
    for view in (wide[::2, ::3], wide[::-1], np.asfortranarray(wide), wide.astype(">f8")):
        phase = np.linspace(0, 0.9, len(view))
        for got, expected in zip(make_windows(view, phase, 3, 2, 2), make_windows(view.copy(), phase, 3, 2, 2), strict=True):
            assert np.array_equal(got, expected)


def test_a_phase_below_one_stays_below_one_in_float32():  # U23
    features = np.zeros((3, 3), np.float32)
    P = make_windows(features, [1 - 1e-9, 1.0, 0], 1, 1, 1)[2]
    assert P[0] == np.nextafter(np.float32(1), np.float32(0)) and P[1] == 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((np.zeros(5), np.zeros(5)), ValueError, "features must have shape"),
        ((np.zeros((5, 2)), np.zeros(4)), ValueError, "phase must have shape"),
        ((np.zeros((5, 2)), [0, 0, 1.5, 0, 0]), ValueError, r"phase\[2\]=1.5 is not in \[0, 1\]"),
        ((np.zeros((5, 2)), [0, -1, 0, 0, 0]), ValueError, r"phase\[1\]=-1.0"),
        ((np.full((5, 2), np.inf), np.zeros(5)), ValueError, r"features\[0, 0\]=inf is not finite"),
        ((np.zeros((5, 2)), np.zeros(5), 0), ValueError, "input_len"),
        ((np.zeros((5, 2)), np.zeros(5), 1, 0), ValueError, "output_len"),
        ((np.zeros((5, 2)), np.zeros(5), 1, 1, 0), ValueError, "stride"),
        ((np.zeros((5, 2)), np.zeros(5), 1.0), TypeError, "input_len"),
        ((np.zeros((5, 2)), np.zeros(5), 2**70), ValueError, "input_len"),
        ((np.zeros((5, 2)), np.zeros(5), True), TypeError, "input_len"),
        ((np.zeros((5, 2), complex), np.zeros(5)), TypeError, "real numbers"),
        ((None, np.zeros(5)), TypeError, "features"),
        ((np.zeros((5, 2)), None), TypeError, "phase"),
        (([[1, 2], [3]], [0, 0]), ValueError, "features"),
    ],
)
def test_make_windows_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        make_windows(*arguments)


# ---- Normalizer


def test_population_statistics():  # U48
    normalizer = Normalizer("all").fit([[0.0], [1.0], [2.0]])
    assert normalizer.mean_ == pytest.approx([1]) and normalizer.scale_ == pytest.approx([0.816496581], abs=1e-9)
    assert normalizer.transform([[10.0]])[0] == pytest.approx([11.022704], abs=1e-6)


def test_the_default_takes_the_root_velocity_only():
    rows, _ = rows_and_phase(200)
    normalizer = Normalizer().fit(rows)
    assert normalizer.mean_[:3] == pytest.approx(rows[:, :3].mean(axis=0), abs=1e-15)
    assert normalizer.scale_[:3] == pytest.approx(rows[:, :3].std(axis=0), rel=1e-14)
    assert (normalizer.mean_[3:] == 0).all() and (normalizer.scale_[3:] == 1).all()
    z = normalizer.transform(rows)
    assert np.array_equal(z[:, 3:], rows[:, 3:]) and np.abs(z[:, :3].mean(axis=0)).max() < 1e-15


def test_a_list_of_arrays_is_taken_together():
    parts = [rows_and_phase(frames, frames)[0] for frames in (5, 80, 1)]
    several, one = Normalizer("all").fit(parts), Normalizer("all").fit(np.concatenate(parts))
    assert several.mean_ == pytest.approx(one.mean_) and several.scale_ == pytest.approx(one.scale_)
    assert Normalizer("all").fit(np.stack(parts[:1] * 2)).scale_ == pytest.approx(parts[0].std(axis=0))


def test_statistics_of_a_large_offset_keep_their_digits():
    column = 1e6 + np.random.default_rng(0).normal(size=(200_001, 1)) * 0.01
    exact = np.longdouble(column) - 1000000
    normalizer = Normalizer("all").fit(column)
    assert float(abs((normalizer.mean_[0] - 1000000) - exact.mean())) < 3e-10
    assert float(abs(normalizer.scale_[0] - exact.std())) < 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns_have_scale_one(dtype):  # U46
    rows = np.tile(np.array([5.0, 0.1, 0.0], dtype), (7, 1))
    normalizer = Normalizer("all").fit(rows)
    assert (normalizer.scale_ == 1).all() and (normalizer.transform(rows) == 0).all()
    assert np.array_equal(normalizer.inverse_transform(np.zeros((1, 3), dtype))[0], rows[0])
    assert normalizer.transform(np.array([[5.001, 0.1, 0.0]]))[0, 0] == pytest.approx(0.001)
    assert len(normalizer.floored_) == 0


def test_tiny_spreads_get_a_floor_and_are_named():  # U47
    column = np.array([[1 - 1e-7], [1], [1 + 1e-7]])
    with pytest.warns(UserWarning, match="column 0: standard deviation 8.16e-08, scale 0.001"):
        normalizer = Normalizer("all").fit(column)
    assert normalizer.scale_ == [1e-3] and abs(normalizer.transform([1.001])[0]) < 1.1
    rows = np.column_stack([np.arange(3.0), np.arange(3.0), np.arange(3.0), column, np.arange(3.0)])
    normalizer = Normalizer("all").fit(rows, names=["a", "b", "c", "knee", "e"])  # a joint that hardly moves is no news
    assert normalizer.report == "column 3 (knee): standard deviation 8.16e-08, scale 0.001"
    assert normalizer.floored_.tolist() == [3] and normalizer.scale_[3] == 1e-3
    for noise, dtype in [(1e-16, np.float64), (1e-7, np.float32)]:  # rounding is no spread
        rows = (1 + np.random.default_rng(0).normal(size=(99, 4)) * noise).astype(dtype)
        normalizer = Normalizer("all").fit(rows)
        assert (normalizer.scale_ == 1).all() and normalizer.report == ""


def test_transform_keeps_types_axes_and_its_input():
    rows = rows_and_phase(60, dtype=np.float32)[0]
    normalizer = Normalizer("all").fit(rows)
    before = rows.copy()
    for shape in ((60, SPEC.dim), (5, 12, SPEC.dim), (SPEC.dim,)):
        part = rows.reshape(-1)[: int(np.prod(shape))].reshape(shape)
        z = normalizer.transform(part)
        assert z.shape == shape and z.dtype == np.float32
        assert np.abs(normalizer.inverse_transform(z) - part).max() < 1e-6
    assert normalizer.transform(np.ones((2, SPEC.dim), int)).dtype == np.float64
    assert np.array_equal(rows, before)


def test_normalizer_refuses():
    with pytest.raises(ValueError, match="columns must be 'velocity' or 'all'"):
        Normalizer("some")
    with pytest.raises(TypeError, match="columns"):
        Normalizer(3)
    for method in ("transform", "inverse_transform"):
        with pytest.raises(ValueError, match="fit first"):
            getattr(Normalizer(), method)(np.zeros((2, 3)))
    normalizer = Normalizer().fit(np.eye(3))
    with pytest.raises(ValueError, match=r"features must have shape \(..., 3\), got \(2, 4\)"):
        normalizer.transform(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"features\[1, 2\]=nan"):
        normalizer.transform([[0, 0, 0], [0, 0, np.nan]])
    for bad, error in [
        (np.zeros((0, 3)), ValueError),
        ([], ValueError),
        ([[1, np.nan]], ValueError),
        (None, TypeError),
        ("ab", TypeError),
        ([np.zeros((2, 3)), np.zeros((2, 4))], ValueError),
        ([np.zeros((2, 3)), None], TypeError),
        (np.array([["a"]]), TypeError),
        (3.0, ValueError),
        ([[1e308], [-1e308]], ValueError),  # no finite spread
        ([[1e200], [3e200]], ValueError),
    ]:
        with pytest.raises(error):
            Normalizer("all").fit(bad)
    assert np.array_equal(normalizer.mean_, Normalizer().fit(np.eye(3)).mean_)


# ---- WindowDataset


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, "velocity", "all"])
def test_batches_are_the_windows_of_each_clip(stored, dtype, columns):
    clips = [rows_and_phase(frames, frames, stored, missing=0.2) for frames in (40, 25, 18, 70)]
    normalizer = columns and Normalizer(columns).fit([rows for rows, _ in clips])
    dataset = WindowDataset([rows for rows, _ in clips], SPEC, [p for _, p in clips], normalizer=normalizer, dtype=dtype)
    parts = [make_windows(rows.astype(dtype), phase) for rows, phase in clips]
    X, Y, P = (np.concatenate(part) for part in zip(*parts, strict=True))
    if normalizer:
        X, Y = normalizer.transform(X), normalizer.transform(Y)
    assert len(dataset) == len(X) and dataset.starts.dtype == dataset.clip_index.dtype == np.int64
    for got, expected in zip(dataset.arrays(), (X, Y, P), strict=True):
        assert got.dtype == dtype and np.array_equal(got, expected)
    indices = np.random.default_rng(0).integers(-len(X), len(X), 50)
    for got, expected in zip(dataset.batch(indices), (X, Y, P), strict=True):
        assert np.array_equal(got, expected[indices])
    x, y, p = dataset[-2]
    assert np.array_equal(x, X[-2]) and np.array_equal(y, Y[-2]) and p == P[-2]


def test_no_window_crosses_clips():  # U44
    clips = [np.full((20, SPEC.dim), float(i)) for i in range(2)]
    dataset = WindowDataset(clips, SPEC, [np.zeros(20)] * 2, output_len=1)
    assert len(dataset) == 4 and dataset.clip_index.tolist() == [0, 0, 1, 1] and dataset.starts.tolist() == [0, 4, 0, 4]
    X, Y, _ = dataset.arrays()
    assert (X == X[:, :1, :1]).all() and (Y[:, 0, 0] == dataset.clip_index).all()


def test_a_short_clip_is_named():
    clips = [random_clip(40), random_clip(10, 1)]
    with pytest.warns(UserWarning, match=r"clips\[1\] \(random\) has 10 frames: shorter than a window of 18"):
        dataset = WindowDataset(clips, FeatureSpec(8), [np.zeros(40), np.zeros(10)])
    assert (dataset.clip_index == 0).all() and len(dataset) == 6
    with pytest.warns(UserWarning, match="clips"):
        assert len(WindowDataset(clips[1:], FeatureSpec(8), [np.zeros(10)]).arrays()[0]) == 0


def test_clips_are_encoded():
    clips = [random_clip(40, 1), random_clip(50, 2)]
    spec = FeatureSpec.controller(NAMES, points=POINTS, control=None, phase_step=False)
    phases = [np.linspace(0, 0.9, len(clip)) for clip in clips]
    dataset = WindowDataset(clips, spec, phases, dtype=np.float64)
    other = WindowDataset([spec.encode(clip) for clip in clips], spec, phases, dtype=np.float64)
    assert dataset.fps == 30 and other.fps is None
    assert all(np.array_equal(a, b) for a, b in zip(dataset.arrays(), other.arrays(), strict=True))


def test_frames_are_used_where_they_lie(tmp_path):
    rows, phase = rows_and_phase(100, dtype=np.float32)
    assert np.shares_memory(WindowDataset([rows], SPEC, [phase]).frames[0], rows)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    dataset = WindowDataset([mapped], SPEC, [phase])
    assert np.shares_memory(dataset.frames[0], mapped)
    assert np.array_equal(dataset.arrays()[0], WindowDataset([rows], SPEC, [phase]).arrays()[0])


def test_batch_fills_what_it_is_given():
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows], SPEC, [phase], normalizer=Normalizer().fit(rows))
    out = tuple(np.full_like(part, np.nan) for part in dataset.batch([3, 1]))
    result = dataset.batch([3, 1], out=out)
    assert all(a is b for a, b in zip(result, out, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(out, dataset.batch([3, 1]), strict=True))
    buffer = np.zeros((30, SPEC.dim), np.float32)
    for wrong, error in [
        (out[:2], TypeError),
        (3, TypeError),
        ((out[0], out[1], None), TypeError),
        ((buffer[:24].reshape(2, 12, -1), buffer[18:30].reshape(2, 6, -1), out[2]), ValueError),
        ((out[0][:1], out[1], out[2]), ValueError),
        ((out[0].astype(float), out[1], out[2]), ValueError),
        ((np.zeros((2, 24, SPEC.dim), np.float32)[:, ::2], out[1], out[2]), ValueError),
    ]:
        with pytest.raises(error, match="out"):
            dataset.batch([3, 1], out=wrong)
    frozen = out[0].copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out"):
        dataset.batch([3, 1], out=(frozen, *out[1:]))


@pytest.mark.parametrize(
    ("indices", "error"),
    [
        ([21], IndexError),
        ([-22], IndexError),
        ([0, 10**30], (IndexError, TypeError)),
        ([0.5], TypeError),
        ([True], TypeError),
    ]
    + [([[0]], ValueError), (0, ValueError), (None, TypeError), ("a", TypeError)],
)
def test_batch_refuses(indices, error):
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows], SPEC, [phase])
    assert len(dataset) == 21 and len(dataset.batch([])[0]) == 0
    with pytest.raises(error):
        dataset.batch(indices)


def test_a_window_by_index_refuses():
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows], SPEC, [phase])
    for index, error in [
        (21, IndexError),
        (-22, IndexError),
        (2**70, IndexError),
        (1.0, TypeError),
        (True, TypeError),
        ("1", TypeError),
        (slice(2), TypeError),
    ]:
        with pytest.raises(error):
            dataset[index]
    assert len(list(dataset)) == 21


def test_a_data_set_is_copied_and_pickled():
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows], SPEC, [phase], fps=30)
    for twin in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert all(np.array_equal(a, b) for a, b in zip(twin.arrays(), dataset.arrays(), strict=True))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"clips": []}, ValueError, "clips must hold at least one"),
        ({"clips": np.zeros((40, SPEC.dim))}, TypeError, "clips must be a sequence of clips"),
        ({"clips": random_clip()}, TypeError, "clips must be a sequence of clips"),
        ({"clips": None}, TypeError, "clips"),
        ({"clips": [np.zeros((40, 9))]}, ValueError, r"clips\[0\] must have shape \(T, 15\), got \(40, 9\)"),
        ({"clips": [np.full((40, SPEC.dim), np.nan)]}, ValueError, r"clips\[0\]\[0, 0\]=nan is not finite"),
        ({"clips": [np.zeros((40, SPEC.dim), complex)]}, TypeError, r"clips\[0\]"),
        ({"clips": [np.full((40, SPEC.dim), 1e300)]}, ValueError, r"clips\[0\]\[0, 0\]=1e\+300 is not finite in float32"),
        ({"clips": {random_clip(40)}}, TypeError, "clips must be a sequence of clips, got set"),
        ({"clips": [random_clip(40)]}, ValueError, r"clips\[0\] \(random\): joints=2"),
        ({"spec": None}, TypeError, "spec must be a FeatureSpec"),
        ({"phases": []}, ValueError, "phases must hold one array for each of the 1 clips, got 0"),
        ({"phases": [np.zeros(39)]}, ValueError, r"phases\[0\] must have shape \(40,\), got \(39,\)"),
        ({"phases": [np.full(40, 2.0)]}, ValueError, r"phases\[0\]\[0\]=2.0 is not in \[0, 1\]"),
        ({"phases": None}, ValueError, r"phases\[0\] must be given"),
        ({"phases": 3}, TypeError, "phases"),
        ({"input_len": 0}, ValueError, "input_len"),
        ({"output_len": "6"}, TypeError, "output_len"),
        ({"stride": -4}, ValueError, "stride"),
        ({"normalizer": "all"}, TypeError, "normalizer must be a Normalizer"),
        ({"normalizer": Normalizer().fit(np.eye(4))}, ValueError, "normalizer has 4 columns, the spec 15"),
        ({"dtype": np.int32}, ValueError, "dtype must be float32 or float64"),
        ({"dtype": "nonsense"}, TypeError, "dtype"),
        ({"dtype": None}, TypeError, "dtype"),
        ({"fps": 0}, ValueError, "fps"),
        ({"groups": ["a", "b"]}, ValueError, "groups must hold one label"),
        ({"groups": [[]]}, TypeError, r"groups\[0\]"),
        ({"mirror": True}, ValueError, "names"),
    ],
)
def test_data_set_refuses(change, error, text):
    arguments = {"clips": [np.zeros((40, SPEC.dim))], "spec": SPEC, "phases": [np.zeros(40)], **change}
    with pytest.raises(error, match=text):
        WindowDataset(**arguments)


def test_clips_of_different_rates_are_refused():
    clips = [random_clip(40), random_clip(40, 1, fps=60)]
    with pytest.raises(ValueError, match=r"clips\[1\] has 60 frames a second, expected 30"):
        WindowDataset(clips, FeatureSpec(8), [np.zeros(40)] * 2)


# ---- mean velocity


def test_mean_velocity_by_phase():
    rows, phase = rows_and_phase(500, missing=0.1)
    dataset = WindowDataset([rows], SPEC, [phase], stride=1, normalizer=Normalizer("all").fit(rows), dtype=np.float64)
    _, Y, P = make_windows(rows, phase, stride=1)
    table = dataset.mean_velocity(8)
    assert table.shape == (8, 3)
    for k in range(8):
        assert table[k] == pytest.approx(Y[np.floor(P * 8) == k, 0, :3].mean(axis=0), abs=1e-12)


def test_mean_velocity_interpolates_empty_bins_round_the_circle():
    rows = np.zeros((40, SPEC.dim))
    phase = np.where(np.arange(40) % 2, 0.3, 0.9)
    rows[1:, 0] = np.where(phase[:-1] == 0.3, 1.0, 3.0)  # the frame after a window's last
    table = WindowDataset([rows], SPEC, [phase], stride=1).mean_velocity(10)
    assert table[:, 0] == pytest.approx([2.5, 2, 1.5, 1, 4 / 3, 5 / 3, 2, 7 / 3, 8 / 3, 3])
    assert WindowDataset([rows], SPEC, [np.ones(40)]).mean_velocity(4).shape == (4, 3)
    with pytest.raises(ValueError, match="no window"):
        WindowDataset([rows], SPEC, [np.full(40, np.nan)]).mean_velocity()
    for bins, error in [(0, ValueError), (1.5, TypeError)]:
        with pytest.raises(error, match="bins"):
            WindowDataset([rows], SPEC, [phase]).mean_velocity(bins)


# ---- split


def frames_of(dataset):
    """(clip, frame) of every frame that stands in a window."""
    window = dataset.input_len + dataset.output_len
    return {(c, f) for c, s in zip(dataset.clip_index, dataset.starts, strict=True) for f in range(s, s + window)}


@pytest.mark.parametrize("by", ["clip", "block"])
@pytest.mark.parametrize("seed", range(8))
def test_no_frame_stands_on_both_sides(by, seed):
    clips = [rows_and_phase(frames, frames) for frames in (100, 130, 90, 150, 220, 110, 95, 140, 105, 300)]
    dataset = WindowDataset([rows for rows, _ in clips], SPEC, [p for _, p in clips])
    train, validation = dataset.split(0.3, by, seed)
    assert len(train) and len(validation)
    assert not frames_of(train) & frames_of(validation)
    if by == "clip":
        assert len(set(validation.clip_index)) == 3 and len(train) + len(validation) == len(dataset)
    else:
        assert 0.2 < len(validation) / len(dataset) < 0.4 and len(train) > 0.3 * len(dataset)
        by_clip = {}
        for clip, frame in frames_of(train):
            by_clip.setdefault(clip, []).append(frame)
        for clip, frame in frames_of(validation):  # a gap of a window
            assert np.abs(np.array(by_clip[clip]) - frame).min() > 18
    again = dataset.split(0.3, by, seed)
    assert np.array_equal(train.starts, again[0].starts) and np.array_equal(validation.clip_index, again[1].clip_index)
    assert all(a is b for a, b in zip(train.frames, dataset.frames, strict=True))


def test_seeds_give_different_splits():
    clips = [rows_and_phase(60, i) for i in range(10)]
    dataset = WindowDataset([rows for rows, _ in clips], SPEC, [p for _, p in clips])
    assert len({tuple(np.unique(dataset.split(0.3, seed=seed)[1].clip_index)) for seed in range(20)}) > 10


@pytest.mark.parametrize(("share", "count"), [(0.2, 2), (0.25, 2), (0.01, 1), (0.99, 8), (0.5, 4)])
def test_split_by_clip_rounds(share, count):
    clips = [rows_and_phase(40, i) for i in range(9)]
    dataset = WindowDataset([rows for rows, _ in clips], SPEC, [p for _, p in clips])
    assert len(np.unique(dataset.split(share)[1].clip_index)) == count


def copies(clips, kind):
    """Each clip with something that shows the same motion."""
    if kind == "mirror":
        return [*clips, *(clip.mirror() for clip in clips)]
    if kind == "copy":
        return [
            *clips,
            *(Clip(clip.skeleton, clip.root_positions, clip.rotations, clip.fps, "other") for clip in clips),
        ]
    if kind == "overlap":
        return [piece for clip in clips for piece in (clip[:80], clip[70:])]
    return [piece for clip in clips for piece in (clip[:90], clip.mirror()[60:])]


@pytest.mark.parametrize("kind", ["mirror", "copy", "overlap", "mirrored overlap"])
@pytest.mark.parametrize("frame", ["world", "heading"])
@pytest.mark.parametrize("by", ["clip", "block"])
@pytest.mark.parametrize("encoded", [False, True])
def test_the_same_motion_stays_on_one_side(kind, frame, by, encoded):
    """By the recorded frames themselves: root height and joint rotations up to the mirror."""
    spec = FeatureSpec(8, frame=frame)
    clips = copies([random_clip(150, seed) for seed in range(5)], kind)
    given = [spec.encode(clip) for clip in clips] if encoded else clips
    dataset = WindowDataset(given, spec, [np.zeros(len(clip)) for clip in clips])
    for seed in range(6):
        train, validation = dataset.split(0.3, by, seed)
        assert len(train) and len(validation)
        heights = [{clips[c].root_positions[f, 1] for c, f in frames_of(part)} for part in (train, validation)]
        assert not heights[0] & heights[1]


def test_recorded_mirror_images_and_copies_are_found():
    """Files of another author: a take and its mirror, a copy under another name, a piece of a longer take."""
    pairs = [
        ("holden/LocomotionFlat04_000.bvh", "holden/LocomotionFlat04_000_mirror.bvh", 0),
        ("pack/walk.bvh", "pack/run_forward_resampled.bvh", 0),
        ("pack/walk_and_turn_left_.bvh", "pack/walk_forward_.bvh", 89),
    ]
    for *names, shift in pairs:
        clips = [load_bvh(shared("clips", *name.split("/"))) for name in names]
        spec = FeatureSpec(clips[0].skeleton.names, frame="heading")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = WindowDataset(clips, spec, [np.zeros(len(clip)) for clip in clips], input_len=2, output_len=1)
        (group,) = dataset._timelines()
        assert group.clips == [0, 1] and group.offsets == [0, shift]


def test_files_written_anew_are_found():
    """Rounded to micrometres and mirrored, with other axes in the joints; a piece of it on another rig."""
    clip = random_clip(90, 1)
    other_axes = clip.mirror().rotations * [1, -1, 1, -1]
    anew = Clip(SKELETON, (clip.root_positions * [-1, 1, 1]).round(6), clip.mirror().rotations, 30)
    rig = Skeleton(NAMES[:7], PARENTS[:7], OFFSETS[:7])
    piece = Clip(rig, clip.root_positions[30:].round(6), clip.rotations[30:, :7], 30)
    wrong = Clip(SKELETON, clip.root_positions.round(6), other_axes, 30)  # the same path, other poses
    spec = FeatureSpec(NAMES[:7], frame="heading")
    takes = [clip, anew, piece, wrong]
    dataset = WindowDataset(takes[:3], spec, [np.zeros(len(take)) for take in takes[:3]])
    (group,) = dataset._timelines()
    assert group.clips == [0, 1, 2] and group.offsets == [0, 0, 30]
    assert len(WindowDataset([clip, wrong], spec, [np.zeros(90)] * 2)._timelines()) == 2


def test_motions_that_only_look_alike_are_not_linked():
    """Standing, even motion, first frames that repeat the second one's velocity, one path with different poses."""
    still = np.zeros((60, SPEC.dim))
    even = still + [0, 0, 1.4, *[0] * (SPEC.dim - 3)]
    dataset = WindowDataset([still, still, even, even], SPEC, [np.zeros(60)] * 4)
    assert len(dataset._timelines()) == 4
    path = np.stack([np.zeros(200), 1 + 0.03 * np.sin(np.arange(200)), np.arange(200) * 1.4 / 30], axis=1)
    line = path * [0, 0, 1] + [0, 1, 0]
    for root in (path, line):
        clips = [Clip(SKELETON, root, random_clip(200, seed).rotations, 30) for seed in range(4)]
        spec = FeatureSpec(8, frame="heading")
        for takes in (clips, [spec.encode(clip) for clip in clips]):
            dataset = WindowDataset(takes, spec, [np.zeros(200)] * 4)
            assert len(dataset._timelines()) == 4
            train, validation = dataset.split(0.25)
            assert len(np.unique(train.clip_index)) == 3
    poses = np.tile(random_clip(1).rotations, (200, 1, 1))  # a statue that is moved evenly, at two speeds
    clips = [Clip(SKELETON, line * speed, poses, 30) for speed in (1, 1.5)]
    assert len(WindowDataset(clips, FeatureSpec(8), [np.zeros(200)] * 2)._timelines()) == 2
    pose = np.tile([1.0, 0, 0, 0], (3, 8, 1))  # three frames of a reference pose at the origin, then the take
    clips = [random_clip(60, seed) for seed in range(3)]
    clips = [Clip(SKELETON, np.r_[np.zeros((3, 3)), c.root_positions], np.r_[pose, c.rotations], 30) for c in clips]
    assert len(WindowDataset(clips, FeatureSpec(8), [np.zeros(63)] * 3)._timelines()) == 3
    short = [random_clip(1), random_clip(1), random_clip(40)[:0], random_clip(40)]
    with pytest.warns(UserWarning, match="shorter"):
        dataset = WindowDataset(short, FeatureSpec(8), [np.zeros(len(clip)) for clip in short])
    assert len(dataset._timelines()) >= 2


def test_declared_groups_stay_together_at_any_speed():
    lengths = (100, 115, 87, 120, 138, 104)
    clips = [rows_and_phase(frames, frames) for frames in lengths]
    dataset = WindowDataset(
        [r for r, _ in clips], SPEC, [p for _, p in clips], groups="aaabbb".replace("", " ").split(), stride=1
    )
    train, validation = dataset.split(0.5, "clip")
    assert {*np.unique(train.clip_index)} in ({0, 1, 2}, {3, 4, 5}) and len(np.unique(validation.clip_index)) == 3
    train, validation = dataset.split(0.2, "block")
    shares = [{(c // 3, f / lengths[c]) for c, f in frames_of(part)} for part in (train, validation)]
    for group in (0, 1):
        held = [share for g, share in shares[1] if g == group]
        assert not [s for g, s in shares[0] if g == group and min(held) <= s <= max(held)]


def test_split_refuses():
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows], SPEC, [phase])
    for share in (0, 1, -0.1, 1.5):
        with pytest.raises(ValueError, match="validation must be between 0 and 1"):
            dataset.split(share)
    for arguments, error, text in [
        ((0.2, "frame"), ValueError, "by must be 'clip' or 'block'"),
        ((0.2, None), TypeError, "by"),
        ((0.2, "clip"), ValueError, "two clips"),
        (("0.2",), TypeError, "validation"),
        ((0.2, "clip", -1), ValueError, "seed"),
        ((0.2, "clip", 0.5), TypeError, "seed"),
        ((np.nan,), ValueError, "validation"),
    ]:
        with pytest.raises(error, match=text):
            dataset.split(*arguments)
    with pytest.raises(ValueError, match="two clips"):
        WindowDataset([rows, rows], SPEC, [phase, phase]).split()
    with pytest.raises(ValueError, match="by='block' needs clips"):
        WindowDataset([rows[:30]], SPEC, [phase[:30]]).split(0.2, "block")


def test_statistics_come_from_the_training_part():  # U48
    clips = [rows_and_phase(60, i)[0] + i for i in range(6)]
    given = Normalizer("all")
    dataset = WindowDataset(clips, SPEC, [np.zeros(60)] * 6, normalizer=given)
    assert dataset.arrays()[0].shape[0] == 66 and not given.fitted  # statistics of everything, its own
    train, validation = dataset.split(0.34, seed=3)
    mine = Normalizer("all").fit([clips[c].astype(np.float32) for c in np.unique(train.clip_index)])
    assert train.normalizer is validation.normalizer
    assert np.array_equal(train.normalizer.mean_, mine.mean_) and np.array_equal(train.normalizer.scale_, mine.scale_)
    train, _ = WindowDataset(clips[:1], SPEC, [np.zeros(60)], stride=1, normalizer=given).split(0.1, "block")
    frames = sorted({f for _, f in frames_of(train)})
    assert np.abs(train.normalizer.mean_ - clips[0][frames].mean(axis=0)).max() < 1e-6
    fitted = Normalizer().fit(clips[0])
    dataset = WindowDataset(clips, SPEC, [np.zeros(60)] * 6, normalizer=fitted)
    assert all(part.normalizer is fitted for part in dataset.split())


# ---- mirroring


@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
@pytest.mark.parametrize("frame", ["world", "heading"])
@pytest.mark.parametrize("names", [8, tuple(NAMES[::-1])])
def test_mirrored_rows_are_the_rows_of_the_mirrored_clip(representation, frame, names):
    clip = random_clip(50)
    clip = Clip(LEVEL, clip.root_positions, clip.rotations, 30)
    stands = np.random.default_rng(0).random((50, 2)) > 0.5
    spec = FeatureSpec(names, representation, frame, True, True, ("LeftFoot_end", "Head", "RightFoot_end"), True)
    columns, signs = spec.mirror(LEVEL)
    expected = spec.encode(clip.mirror(), contacts=stands[:, ::-1])
    assert np.abs(spec.encode(clip, contacts=stands)[:, columns] * signs - expected).max() < 1e-12
    if names != 8:
        assert np.array_equal(spec.mirror()[0], columns)
        assert np.array_equal(
            spec.mirror(pairs={name: name.replace("Left", "Right") for name in NAMES if "Left" in name})[0], columns
        )


def test_mirror_refuses():
    with pytest.raises(ValueError, match="count"):
        FeatureSpec().mirror()
    with pytest.raises(ValueError, match=r"joints\[1\]='LeftLeg' cannot be mirrored, as 'RightLeg' is not among"):
        FeatureSpec(["Hips", "LeftLeg"]).mirror(LEVEL)
    with pytest.raises(ValueError, match=r"points\[0\]='LeftFoot_end'"):
        FeatureSpec(8, points=["LeftFoot_end"]).mirror(LEVEL)
    with pytest.raises(ValueError, match="'Tail' is no joint"):
        FeatureSpec(["Hips"]).mirror(pairs={"Tail": "Hips"})
    with pytest.raises(TypeError, match="pairs"):
        FeatureSpec(["Hips"]).mirror(pairs=["Hips"])
    for pairs in ({"LeftLeg": "RightLeg", "LeftFoot": "RightLeg"}, {"LeftLeg": "RightLeg", "RightLeg": "LeftFoot"}):
        with pytest.raises(ValueError, match="names a joint that another pair has already"):
            FeatureSpec(NAMES).mirror(pairs=pairs)
    both = {"LeftLeg": "RightLeg", "RightLeg": "LeftLeg"}
    assert np.array_equal(FeatureSpec(NAMES).mirror(pairs=both)[0], FeatureSpec(NAMES).mirror(pairs={"LeftLeg": "RightLeg"})[0])


def controlled(clips, **options):
    spec = FeatureSpec.controller(NAMES, points=("LeftFoot_end", "RightFoot_end"), control=Trajectory((-0.3, 0.25, 0.9)))
    phases = [np.linspace(0, 3, len(clip)) % 1 for clip in clips]
    return WindowDataset(clips, spec, phases, input_len=2, output_len=4, stride=3, dtype=np.float64, **options)


def test_mirrored_windows_are_windows_of_the_mirrored_clip():
    clips = [Clip(LEVEL, c.root_positions, c.rotations, 30) for c in (random_clip(80, s) for s in range(2))]
    both = controlled(clips, mirror=True)
    plain, flipped = controlled(clips), controlled([clip.mirror() for clip in clips])
    n = len(plain)
    assert len(both) == 2 * n and both.mirrored.tolist() == [False] * n + [True] * n
    here, there = np.arange(n), np.arange(n, 2 * n)
    for own, other in ((here, plain), (there, flipped)):
        for a, b in zip(both.batch(own)[:2], other.arrays()[:2], strict=True):
            assert np.abs(a - b).max() < 1e-12
        for step in (0, 3):
            root = other.root(here, step) + [0.1, -0.2, 0.3]
            assert np.abs(both.control(own, step) - other.control(here, step)).max() < 1e-12
            assert np.abs(both.control(own, step, root=root) - other.control(here, step, root=root)).max() < 1e-12
            assert np.abs(both.root(own, step) - other.root(here, step)).max() < 1e-12
    assert np.abs((both.batch(there)[2] - both.batch(here)[2]) % 1 - 0.5).max() < 1e-12
    assert both.phase_step(there) == pytest.approx(plain.phase_step(here))
    train, validation = both.split(0.5, "clip")
    assert not frames_of(train) & frames_of(validation) and train.mirrored.mean() == 0.5
    table = both.mean_velocity(2)
    assert table[0] == pytest.approx(table[1] * [-1, 1, 1])


def test_statistics_with_mirrored_windows_are_those_of_both():
    clips = [Clip(LEVEL, c.root_positions, c.rotations, 30) for c in (random_clip(80, s) for s in range(2))]
    normalizer = controlled(clips, mirror=True, normalizer=Normalizer("all")).normalizer
    spec = controlled(clips).spec
    mine = Normalizer("all").fit([spec.encode(c) for clip in clips for c in (clip, clip.mirror())])
    assert normalizer.mean_ == pytest.approx(mine.mean_, abs=1e-12) and normalizer.scale_ == pytest.approx(
        mine.scale_, abs=1e-12
    )


# ---- control and phase beside the windows


def test_control_root_and_phase_belong_to_the_frames():
    clips = [random_clip(80, 1), random_clip(90, 2)]
    dataset = controlled(clips)
    trajectory = dataset.spec.control
    indices = np.array([0, 5, len(dataset) - 1, -4])
    for step in (-1, 0, 3):
        for k, i in enumerate(indices % len(dataset)):
            clip = clips[dataset.clip_index[i]]
            frame = dataset.starts[i] + 1 + step
            yaw = np.unwrap(dataset.tracks[dataset.clip_index[i]][:, 2])
            expected = trajectory.encode(clip.root_positions, yaw, 30, [frame])
            assert np.abs(dataset.control(indices, step)[k] - expected).max() < 1e-12
            root = dataset.root(indices, step)[k]
            assert root[:2] == pytest.approx(clip.root_positions[frame, [0, 2]])
            assert np.cos(root[2] - yaw[frame]) == pytest.approx(1)
            future = dataset.control(indices, step, future=True)[k]
            assert np.abs(future - expected[0, 4:]).max() < 1e-12
    assert dataset.phase([0], 2) == pytest.approx(dataset.phases[0][[3]])
    assert dataset.phase_step([0, 1]) == pytest.approx([3 / 79 * 30] * 2)
    assert np.isnan(dataset.phase([0, -1], 1000)).all() and np.isnan(dataset.phase([0], -5)).all()


def test_arrays_have_a_track_where_the_rate_is_known():
    clips = [random_clip(80, 1)]
    spec = controlled(clips).spec
    phases = [np.linspace(0, 3, 80) % 1]
    options = dict(input_len=2, output_len=4, stride=3, dtype=np.float64)
    arrays = WindowDataset([spec.encode(clips[0])], spec, phases, fps=30, **options)
    assert np.abs(arrays.control(np.arange(20)) - controlled(clips).control(np.arange(20))).max() < 1e-9
    with pytest.raises(ValueError, match="fps must be given"):
        WindowDataset([spec.encode(clips[0])], spec, phases, **options).control([0])
    with pytest.raises(ValueError, match="no control"):
        WindowDataset([np.zeros((40, SPEC.dim))], SPEC, [np.zeros(40)]).control([0])
    for arguments, error in [(([0], 1.5), TypeError), (([99999],), IndexError), (([0], 10**9), ValueError)]:
        with pytest.raises(error):
            arrays.control(*arguments)
    with pytest.raises(ValueError, match="root"):
        arrays.control([0, 1], root=np.zeros((1, 3)))


def test_with_a_phase_step_no_output_frame_lacks_a_phase():
    rows, phase = rows_and_phase(400, missing=0.05)
    spec = FeatureSpec(2, phase_step=True)
    dataset = WindowDataset([rows], spec, [phase], stride=1, output_len=3, fps=30)
    steps = np.array([dataset.phase_step(np.arange(len(dataset)), k) for k in range(3)])
    assert np.isfinite(steps).all()
    expected = [s for s in range(400 - 15 + 1) if np.isfinite(phase[s + 11 : s + 15]).all()]
    assert dataset.starts.tolist() == expected


# ---- shifts


def test_shifted_windows():
    rows, phase = rows_and_phase(100)
    dataset = WindowDataset([rows, rows[:50] + 1], SPEC, [phase, phase[:50]], normalizer=Normalizer(), dtype=np.float64)
    moved = dataset.shifted(3)
    assert moved.starts[:3].tolist() == [3, 7, 11] and moved.normalizer is dataset.normalizer
    assert np.array_equal(moved[0][0], dataset.normalizer.transform(rows[3:15]))
    everything = np.concatenate([dataset.shifted(k).starts for k in range(4)])
    dense = WindowDataset([rows, rows[:50]], SPEC, [phase, phase[:50]], stride=1)
    assert np.array_equal(np.sort(everything), np.sort(dense.starts))
    assert np.array_equal(dataset.shifted(4).starts, dataset.starts)
    train, validation = dataset.split(0.2, "block")
    for shift in range(4):
        assert not frames_of(train.shifted(shift)) & frames_of(validation)
    with pytest.raises(ValueError, match="shift"):
        dataset.shifted(-1)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_split_is_clean(data):
    """Random clips, gaps in the phase, sizes and groups: parts are disjoint, a gap apart, and come from the whole."""
    lengths = data.draw(st.lists(st.integers(1, 120), min_size=1, max_size=6))
    missing = data.draw(st.sampled_from([0.0, 0.2, 0.9]))
    by = data.draw(st.sampled_from(["clip", "block"]))
    groups = data.draw(st.none() | st.lists(st.integers(0, 3), min_size=len(lengths), max_size=len(lengths)))
    sizes = [data.draw(st.integers(1, 6)) for _ in range(3)]
    takes = [rows_and_phase(frames, i, missing=missing) for i, frames in enumerate(lengths)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = WindowDataset(
            [rows for rows, _ in takes],
            SPEC,
            [phase for _, phase in takes],
            input_len=sizes[0],
            output_len=sizes[1],
            stride=sizes[2],
            groups=groups,
        )
    window = sizes[0] + sizes[1]
    whole = set(zip(dataset.clip_index.tolist(), dataset.starts.tolist(), strict=True))
    try:
        parts = dataset.split(data.draw(st.floats(0.01, 0.99)), by, data.draw(st.integers(0, 99)))
    except ValueError as error:
        assert "needs" in str(error)
        return
    assert len(parts[0]) and len(parts[1])
    for part in parts:
        assert set(zip(part.clip_index.tolist(), part.starts.tolist(), strict=True)) <= whole
        for step in range(sizes[2]):  # shifted windows stay on their side
            assert frames_of(part.shifted(step)).isdisjoint(frames_of(parts[0] if part is parts[1] else parts[1]))
    train, held = (sorted(frames_of(part)) for part in parts)
    assert not set(train) & set(held)
    if by == "block":
        for clip in range(len(lengths)):
            mine, other = (np.array([f for c, f in frames if c == clip]) for frames in (train, held))
            if len(mine) and len(other):
                assert np.abs(mine[:, None] - other).min() > window
    elif groups:
        assert not {groups[c] for c, _ in train} & {groups[c] for c, _ in held}


def test_batches_from_several_threads():
    rows, phase = rows_and_phase(2000)
    dataset = WindowDataset([rows], SPEC, [phase], stride=1, normalizer=Normalizer("all"))
    orders = [np.random.default_rng(i).integers(0, len(dataset), 200) for i in range(8)]
    expected = [dataset.batch(order) for order in orders]
    with ThreadPoolExecutor(4) as threads:
        for got, wanted in zip(threads.map(dataset.batch, orders * 5), expected * 5, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


def test_other_paths_for_the_control_blocks():
    t = np.arange(40) / 30
    clip = np.zeros((40, FeatureSpec(3, frame="heading").dim))
    spec = FeatureSpec(3, frame="heading", control=Trajectory((0.5,)))
    clip[:, 3::4] = 1
    data = WindowDataset([clip], spec, [np.linspace(0, 0.99, 40)], input_len=2, output_len=2, fps=30.0)
    data.follow([np.column_stack([0 * t, 2 * t, 0 * t])])
    np.testing.assert_allclose(data.control([0, 5]), [[0, 1, 0, 1]] * 2, atol=1e-6)
    with pytest.raises(ValueError, match=r"tracks must hold one for each of the 1 clips, got 0"):
        data.follow([])
    with pytest.raises(ValueError, match=r"tracks\[0\]"):
        data.follow([np.zeros((39, 3))])
    with pytest.raises(TypeError, match="tracks"):
        data.follow(3)
