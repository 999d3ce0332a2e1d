import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from test_features import NAMES, random_clip
from test_speeds import shown

from pfnnc import (
    BVHError,
    FeatureSpec,
    Normalizer,
    Trajectory,
    WindowDataset,
    build,
    build_dataset,
    load_bvh,
    open_dataset,
    save_bvh,
)

SPEC = FeatureSpec(NAMES, frame="heading", height=True)


def label(clip):
    """A phase that any process can find: one cycle a second, none in the first ten frames."""
    phase = np.arange(len(clip)) / clip.fps % 1
    phase[:10] = np.nan
    return phase


def from_seed(path):
    """A "recording" of a few bytes."""
    with open(path) as file:
        seed = int(file.read())
    return random_clip(60, seed), np.full(60, 0.5)


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for i, frames in enumerate((120, 90, 150, 100)):
        save_bvh(folder / f"take{i}.bvh", random_clip(frames, i, fps=60.0 if i == 2 else 30.0))
    return folder


def arrays_of(out):
    return sorted(path.name for path in (out / "clips").iterdir())


def times_of(out):
    return {path.name: path.stat().st_mtime_ns for path in (out / "clips").iterdir()}


def aged(out):
    """The files, made an hour older: clocks of file systems are coarse, and what is written at once may look the same."""
    for name, when in times_of(out).items():
        os.utime(out / "clips" / name, ns=(when - 3600 * 10**9,) * 2)
    return times_of(out)


def test_the_arrays_are_those_of_the_clips(recordings, tmp_path):
    manifest = build_dataset(recordings, SPEC, tmp_path / "out", label=label)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == manifest
    assert [clip["frames"] for clip in manifest["clips"]] == [120, 90, 75, 100]
    assert manifest["units"] == {"length": "m", "time": "s", "angle": "rad", "phase": "cycles"}
    assert manifest["columns"] == list(SPEC.columns) and FeatureSpec.from_dict(manifest["spec"]) == SPEC
    assert all(len(recording["sha256"]) == 64 and recording["dropped"] is None for recording in manifest["recordings"])
    assert manifest["clips"][0]["phaseless"] == 10

    data = open_dataset(tmp_path / "out", normalizer=Normalizer("all"), verify=True)
    clips = [load_bvh(recordings / f"take{i}.bvh") for i in range(4)]
    phases = [label(clip) for clip in clips]
    phases[2] = phases[2][::2]
    clips[2] = clips[2].resample(30)
    direct = WindowDataset(clips, SPEC, phases, normalizer=Normalizer("all"))
    assert data.fps == 30 and data.skeleton.names == NAMES
    assert np.array_equal(data.starts, direct.starts) and np.array_equal(data.clip_index, direct.clip_index)
    for own, other in zip(data.arrays(), direct.arrays(), strict=True):
        assert own.dtype == np.float32 and np.array_equal(own, other)
    assert np.abs(data.root(np.arange(5)) - direct.root(np.arange(5))).max() < 1e-12
    assert isinstance(data.frames[0].base, np.memmap) and not data.frames[0].flags.writeable


def executors():
    yield "threads", lambda: ThreadPoolExecutor(2)
    yield "processes", lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn"))


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in executors()])
def test_any_executor_gives_the_same(recordings, tmp_path, make, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), *sys.path]))
    build_dataset(recordings, SPEC, tmp_path / "a", label=label)
    with make() as executor:
        build_dataset(recordings, SPEC, tmp_path / "b", label=label, executor=executor)
    assert (tmp_path / "a" / "manifest.json").read_text() == (tmp_path / "b" / "manifest.json").read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same(recordings, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs dask's distributed")
    build_dataset(recordings, SPEC, tmp_path / "a", label=label)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(sys.path.insert, 0, os.path.dirname(__file__))
        build_dataset(recordings, SPEC, tmp_path / "b", label=label, executor=client.get_executor())
    assert (tmp_path / "a" / "manifest.json").read_text() == (tmp_path / "b" / "manifest.json").read_text()


def test_only_what_changed_is_done_again(recordings, tmp_path):
    out = tmp_path / "out"
    build_dataset(recordings, SPEC, out, label=label)
    before = aged(out)
    build_dataset(recordings, SPEC, out, label=label)
    assert times_of(out) == before

    save_bvh(recordings / "take1.bvh", random_clip(95, 7))
    manifest = build_dataset(recordings, SPEC, out, label=label)
    after = times_of(out)
    gone, new = before.keys() - after.keys(), after.keys() - before.keys()
    assert {name[:5] for name in gone} == {name[:5] for name in new} == {"take1"} and len(gone) == len(new) == 5
    assert all(after[name] == before[name] for name in before.keys() & after.keys())
    assert manifest["clips"][1]["frames"] == 95 and len(open_dataset(out, verify=True).frames[1]) == 95

    (recordings / "take0.bvh").unlink()
    assert len(build_dataset(recordings, SPEC, out, label=label)["clips"]) == 3
    assert not [name for name in arrays_of(out) if name.startswith("take0")]
    other = FeatureSpec(NAMES, frame="heading")
    build_dataset(recordings, other, out, label=label)
    assert open_dataset(out).spec == other and not set(arrays_of(out)) & set(after)
    before = aged(out)
    build_dataset(recordings, other, out, label=label, force=True)
    assert all(times_of(out)[name] > when for name, when in before.items())


class Counting(ThreadPoolExecutor):
    """Fails the third task, as a machine does that goes away."""

    def __init__(self, fail_at):
        super().__init__(1)
        self.tasks, self.fail_at = 0, fail_at

    def submit(self, *task):
        self.tasks += 1
        if self.tasks == self.fail_at:
            future = Future()
            future.set_exception(KeyboardInterrupt())
            return future
        return super().submit(*task)


def test_an_interrupted_build_goes_on(recordings, tmp_path, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setattr(build, "IN_FLIGHT", 1)
    with pytest.raises(KeyboardInterrupt), Counting(3) as executor:
        build_dataset(recordings, SPEC, out, label=label, executor=executor)
    assert {name[:5] for name in arrays_of(out)} == {"take0", "take1"} and not (out / "manifest.json").exists()
    before = times_of(out)
    build_dataset(recordings, SPEC, out, label=label)
    assert all(times_of(out)[name] == when for name, when in before.items())
    build_dataset(recordings, SPEC, tmp_path / "whole", label=label)
    assert (out / "manifest.json").read_text() == (tmp_path / "whole" / "manifest.json").read_text()


def test_what_an_earlier_build_left_damaged_is_done_again(recordings, tmp_path):
    """Arrays that were cut or are gone, notes on recordings that are no longer what was written."""
    out = tmp_path / "out"
    build_dataset(recordings, SPEC, out, label=label)
    whole = {path.name: path.read_bytes() for path in (out / "clips").iterdir()}
    for part in ("rows", "phase", "track", "marks"):
        path = next((out / "clips").glob(f"take0*{part}.npy"))
        for wrong in (b"", whole[path.name][:-8], None):
            path.unlink() if wrong is None else path.write_bytes(wrong)
            build_dataset(recordings, SPEC, out, label=label)
            assert {path.name: path.read_bytes() for path in (out / "clips").iterdir()} == whole
    aside = next((out / "clips").glob("take0*.json"))
    record = json.loads(aside.read_text())
    other = {**record, "entry": {**record["entry"], "frames": 7}}
    for wrong in (
        "",
        "[]",
        "3",
        "null",
        "{}",
        '{"entry": null, "crc32": 0}',
        whole[aside.name].decode()[:50],
        json.dumps(other),
    ):
        aside.write_text(wrong)
        build_dataset(recordings, SPEC, out, label=label)
        assert aside.read_bytes() == whole[aside.name]
    open_dataset(out, verify=True)


class Broken(ThreadPoolExecutor):
    """Does something else than it is told."""

    def __init__(self, answer):
        super().__init__(1)
        self.answer = answer

    def submit(self, *task):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def future_of(value):
    future = Future()
    future.set_result(value)
    return future


def dies(clip):
    os._exit(3)


def test_executors_that_fail(recordings, tmp_path, monkeypatch):
    for answer, error, text in [
        (3, TypeError, "executor.submit must return a concurrent.futures.Future, got int"),
        (future_of(3), TypeError, "executor must return what the task returns, got 3"),
        (future_of({"name": "other"}), TypeError, "executor must return"),
        (RuntimeError("cannot schedule new futures after shutdown"), RuntimeError, "after shutdown"),
    ]:
        with pytest.raises(error, match=text), Broken(answer) as executor:
            build_dataset(recordings, SPEC, tmp_path / "out", label=label, executor=executor)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), *sys.path]))
    with pytest.raises(BrokenExecutor), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        build_dataset(recordings, SPEC, tmp_path / "out", label=dies, executor=executor)
    assert not (tmp_path / "out" / "manifest.json").exists() and arrays_of(tmp_path / "out") == []
    assert len(build_dataset(recordings, SPEC, tmp_path / "out", label=label)["clips"]) == 4


def test_errors_of_the_callers_functions_name_the_recording(recordings, tmp_path):
    def fussy(clip):
        if len(clip) == 90:
            raise KeyError("no such label")
        return label(clip)

    for function, error, first in ((fussy, KeyError, "take1.bvh"), (lambda clip: None, TypeError, "take")):
        with pytest.raises(error) as caught:
            build_dataset(recordings, SPEC, tmp_path / "out", label=function)
        assert caught.value.__notes__[0].startswith(f"in recording {first}")

    def locked(path):
        if path.endswith("take2.bvh"):
            raise PermissionError("locked by another program")
        return load_bvh(path)

    with pytest.warns(UserWarning, match="take2.bvh: it cannot be read: locked"):
        manifest = build_dataset(recordings, SPEC, tmp_path / "other", label=label, load=locked)
    assert len(manifest["clips"]) == 3  # and it is tried again the next time
    assert not [name for name in arrays_of(tmp_path / "other") if name.startswith("take2")]


@pytest.mark.slow
def test_a_killed_build_goes_on(recordings, tmp_path):
    """kill -9 at several moments: the next build is whole, and nothing of the killed one is left."""
    for i in range(4, 40):
        shutil.copy(recordings / f"take{i % 4}.bvh", recordings / f"take{i}.bvh")
    out = tmp_path / "out"
    code = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from test_build_dataset import SPEC, build_dataset, label\n"
        "print('ready', flush=True); build_dataset(sys.argv[1], SPEC, sys.argv[2], label=label)"
    )
    for delay in (0.02, 0.1, 0.25):
        arguments = [sys.executable, "-c", code, str(recordings), str(out), os.path.dirname(__file__), *sys.path]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(delay)
            process.kill()
    build_dataset(recordings, SPEC, out, label=label)
    assert len(open_dataset(out, verify=True).frames) == 40
    assert len(arrays_of(out)) == 40 * 5


def test_what_cannot_be_used_is_dropped_with_its_reason(recordings, tmp_path):
    (recordings / "broken.bvh").write_text("HIERARCHY\nROOT a\n{\nOFFSET 0 x 0\n")
    other = random_clip(60, 3)
    save_bvh(recordings / "short.bvh", other[:9])
    (recordings / "folder.bvh").mkdir()
    (recordings / "notes.txt").write_text("no recording")
    with pytest.warns(UserWarning, match=r"2 of 6 recordings dropped: broken.bvh: .*broken.bvh:4"):
        manifest = build_dataset(recordings, SPEC, tmp_path / "out", label=label)
    reasons = {recording["name"]: recording["dropped"] for recording in manifest["recordings"]}
    assert list(reasons) == sorted(reasons) and len(manifest["clips"]) == 4
    assert "expected a number after OFFSET" in reasons["broken.bvh"] and reasons["short.bvh"] == "no frame has a phase"
    before = aged(tmp_path / "out")
    with pytest.warns(UserWarning, match="2 of 6"):
        assert build_dataset(recordings, SPEC, tmp_path / "out", label=label) == manifest
    assert times_of(tmp_path / "out") == before
    for name, spec, reason in [("broken.bvh", SPEC, "OFFSET"), ("take0.bvh", FeatureSpec(["Tail"]), "'Tail'")]:
        with pytest.raises(ValueError, match=f"no recording can be used: .*{name}: .*{reason}"):
            build_dataset([recordings / name], spec, tmp_path / "no", label=label)


def test_recordings_of_any_kind_through_a_function(tmp_path):
    paths = []
    for seed in range(5):
        paths.append(tmp_path / f"{seed}.seed")
        paths[-1].write_text(str(seed))
    manifest = build_dataset(paths, SPEC, tmp_path / "out", load=from_seed)
    assert manifest["load"].endswith("from_seed") and len(manifest["clips"]) == 5
    data = open_dataset(tmp_path / "out", mirror=True, speeds=(1.0, 0.5), stride=1)
    assert np.allclose(data.frames[2], SPEC.encode(random_clip(60, 2)), atol=1e-5) and data.mirrored.any()
    direct = WindowDataset([random_clip(60, seed) for seed in range(5)], SPEC, [np.full(60, 0.5)] * 5, mirror=True,
                           speeds=(1.0, 0.5), stride=1)  # fmt: skip
    assert all(np.array_equal(a, b) for a, b in zip(data.arrays(), direct.arrays(), strict=True))


@pytest.mark.parametrize("by", ["clip", "block"])
@pytest.mark.parametrize("fps", [30.0, 100.0])
def test_copies_on_the_disk_stay_on_one_side(tmp_path, by, fps):
    """A file copied under another name, its mirror image, an overlapping piece, opened at two speeds."""
    folder = tmp_path / "in"
    folder.mkdir()
    clips = {}
    for seed in range(4):
        clip = random_clip(300, seed, fps=fps)
        pieces = {"a": (clip, 0), "copy": (clip, 0), "mirror": (clip.mirror(), 0), "piece": (clip[83:], 83)}
        for kind, (made, begin) in pieces.items():
            save_bvh(folder / f"{seed}{kind}.bvh", made)
            clips[f"{seed}{kind}.bvh"] = (seed, begin)
    build_dataset(folder, SPEC, tmp_path / "out", label=label)
    data = open_dataset(tmp_path / "out", input_len=3, output_len=1, stride=1, speeds=(1.0, 1.25))
    for seed in range(3):
        moments = []
        for part in data.split(0.3, by, seed):
            frames = np.array(sorted(shown(part)))
            take = np.array([clips[data.names[c]] for c in frames[:, 0].astype(int)])
            moments.append(take[:, 0] * 1000 + take[:, 1] + frames[:, 1] * fps / 30)
        assert all({*part.speed} == {1.0, 1.25} for part in data.split(0.3, by, seed))
        assert all(len(part) for part in moments) and np.abs(moments[0][:, None] - moments[1]).min() > 1


def test_control_and_contacts(recordings, tmp_path):
    class Labelled:
        phase = None

    def labels(clip):
        result = Labelled()
        result.phase = label(clip)
        result.contacts = np.stack([result.phase < 0.6, result.phase > 0.4], axis=1)
        return result

    spec = FeatureSpec(NAMES, frame="heading", contacts=True, control=Trajectory((0.5,)), phase_step=True)
    build_dataset(recordings, spec, tmp_path / "out", label=labels)
    data = open_dataset(tmp_path / "out", input_len=2, output_len=3)
    assert data.control([0]).shape == (1, 4) and data.phase_step([0]) == pytest.approx([1.0])
    assert set(np.unique(data.frames[0][:, spec.slices["contacts"]])) == {0, 1}


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"folder": "missing"}, FileNotFoundError, "missing"),
        ({"folder": 3}, TypeError, "folder must be a sequence of paths, or the path of a folder"),
        ({"folder": b"in"}, TypeError, "folder"),
        ({"folder": [3]}, TypeError, r"folder\[0\] must be a str or PathLike"),
        ({"out": 3}, TypeError, "out must be a str or PathLike"),
        ({"folder": []}, ValueError, "at least one path"),
        ({"folder": ["a", "a"]}, ValueError, "twice"),
        ({"spec": None}, TypeError, "spec"),
        ({"rate": 0}, ValueError, "rate"),
        ({"dtype": int}, ValueError, "dtype"),
        ({"load": 3}, TypeError, "load"),
        ({"label": {}}, TypeError, "label"),
        ({"executor": 2}, TypeError, "executor"),
        ({"force": 1}, TypeError, "force"),
    ],
)
def test_build_refuses(recordings, tmp_path, change, error, text):
    arguments = {"folder": recordings, "spec": SPEC, "out": tmp_path / "out", "label": label, **change}
    with pytest.raises(error, match=text):
        build_dataset(**arguments)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_an_empty_folder_and_wrong_results_are_refused(recordings, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"\*.bvh"):
        build_dataset(tmp_path / "empty", SPEC, tmp_path / "out")
    with pytest.raises(TypeError, match="load must return a Clip"):
        build_dataset(recordings, SPEC, tmp_path / "out", load=lambda path: path)
    with pytest.raises(TypeError, match="nonsense"):
        build_dataset(recordings, SPEC, tmp_path / "out", label=label, load={"nonsense": 1})
    with pytest.raises(ValueError, match="phase must have shape"):
        build_dataset(recordings, SPEC, tmp_path / "out", label=lambda clip: np.zeros(3))
    with pytest.raises(OSError):
        build_dataset(recordings, SPEC, recordings / "take0.bvh" / "out", label=label)
    assert issubclass(BVHError, ValueError)


def damage(path, change):
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_open_refuses_what_is_damaged(recordings, tmp_path):
    out = tmp_path / "out"
    build_dataset(recordings, SPEC, out, label=label)
    with pytest.raises(FileNotFoundError):
        open_dataset(tmp_path / "nowhere")
    for arguments, error in [
        ({"input_len": 0}, ValueError),
        ({"normalizer": 3}, TypeError),
        ({"dtype": "x"}, TypeError),
        ({"speeds": ()}, ValueError),
    ]:
        with pytest.raises(error):
            open_dataset(out, **arguments)
    with pytest.raises(TypeError, match="verify"):
        open_dataset(out, verify=1)
    manifest, text = out / "manifest.json", (out / "manifest.json").read_text()
    for change in (
        lambda m: m.update(format=1), lambda m: m.pop("clips"), lambda m: m.update(clips=3),
        lambda m: m.update(clips=[]), lambda m: m.update(clips=[0]),
        lambda m: m["spec"].update(frame="x"), lambda m: m["clips"][0].update(frames=7), lambda m: m.update(rate="a"),
        lambda m: m["clips"][0]["arrays"]["rows"].update(name="../../secret.npy"), lambda m: m.update(skeletons=[]),
        lambda m: m["clips"][0]["arrays"]["rows"].update(name="/etc/passwd"), lambda m: m["clips"][0].pop("group"),
        lambda m: m["clips"][0].update(frames=None), lambda m: m.update(dtype="object"), lambda m: m.update(dtype="<f8"),
        *(lambda m, value=value: m["clips"][0].update(pace=value) for value in (0, -1, "1", float("nan"), 1e300, None)),
        *(lambda m, value=value: m["clips"][0].update(offset=value) for value in ("1", float("nan"), 1e300, None)),
        *(lambda m, value=value: m["clips"][0].update(group=value) for value in (-1, "1", 0.5, [0], None)),
    ):  # fmt: skip
        damage(manifest, change)
        with pytest.raises(ValueError, match="no manifest of a data set, or damaged"):
            open_dataset(out)
        manifest.write_text(text)
    for wrong in (text[:100], "[]", "", "\x00"):
        manifest.write_text(wrong)
        with pytest.raises(ValueError, match="manifest"):
            open_dataset(out)
    manifest.write_text(text)
    rows = next(path for path in (out / "clips").iterdir() if path.name.endswith("rows.npy"))
    whole = rows.read_bytes()
    for wrong in (b"", whole[:50], whole[:-4], b"x" * 500):
        rows.write_bytes(wrong)
        with pytest.raises(ValueError, match="damaged"):
            open_dataset(out)
    header = np.lib.format.header_data_from_array_1_0(np.zeros((1, SPEC.dim), np.float32)) | {"shape": (10**15, SPEC.dim)}
    with open(rows, "wb") as file:  # more rows than any disk holds, by its own word
        np.lib.format.write_array_header_1_0(file, header)
        file.write(whole)
    with pytest.raises(ValueError, match="damaged"):
        open_dataset(out)
    rows.write_bytes(whole)
    phase = next(path for path in (out / "clips").iterdir() if path.name.endswith("phase.npy"))
    kept = phase.read_bytes()
    for wrong in (np.full(120, 1.5), np.zeros(120, np.float32)):
        np.save(phase, wrong)
        with pytest.raises(ValueError, match=r"phase|float32"):
            open_dataset(out)
    phase.write_bytes(kept)
    rows.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ValueError, match="checksum"):
        open_dataset(out, verify=True)
    rows.unlink()
    with pytest.raises(FileNotFoundError):
        open_dataset(out)
    build_dataset(recordings, SPEC, out, label=label)
    open_dataset(out, verify=True)
