"""The command line as a user meets it: what it prints, writes and returns."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pfnnc
from pfnnc import load_bvh, make_gait_clip, save_bvh
from pfnnc.cli import main, make_parser
from pfnnc.cli_model import gather
from pfnnc.cli_read import Reading

QUICK = ["--set", "windows=300", "--set", "hidden=8", "--set", "scales=[1.0]", "--set", "mirror=false"]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """A folder of made walks, one of them in centimetres and one with another skeleton."""
    folder = tmp_path_factory.mktemp("clips")
    for i in range(4):
        made = make_gait_clip("walk", seconds=4.0, fps=60, speed=1.0 + 0.1 * i, variation=0.5, seed=i)
        save_bvh(folder / f"walk{i}.bvh", made.clip)
    one = pfnnc.Clip(
        pfnnc.Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 1, 0]]),
        np.zeros((5, 3)),
        np.tile([1.0, 0, 0, 0], (5, 2, 1)),
        30,
    )
    save_bvh(folder / "other.bvh", one)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory, clips):
    folder = tmp_path_factory.mktemp("trained") / "out"
    assert main(["train", str(clips), "-o", str(folder), *QUICK]) == 0
    return folder


def run(capsys, *arguments, code=0):
    assert main([str(a) for a in arguments]) == code
    return capsys.readouterr()


def test_demo_writes_what_it_says(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("pfnnc.cli_demo.RECIPE", dict(windows=300, hidden=8, scales=(1.0,), mirror=False))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # no plots, and it says so
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = run(capsys, "demo", "-o", tmp_path / "demo", "--seconds", 2)
    names = {"prediction.bvh", "reference.bvh", "report.json", "demo.html", "model.pfnnc"}
    assert {path.name for path in (tmp_path / "demo").iterdir()} == names
    assert all(f"wrote {tmp_path / 'demo' / name}" in shown.out for name in names)
    assert "no plots without Matplotlib" in shown.err and "found in each clip" in shown.out
    assert len(load_bvh(tmp_path / "demo" / "prediction.bvh")) == 60


@pytest.mark.slow
def test_demo_passes_the_articles_three_numbers(capsys, tmp_path):
    run(capsys, "demo", "-o", tmp_path / "demo")
    report = json.loads((tmp_path / "demo" / "report.json").read_text())["metrics"]
    assert report["trajectory_correlation"]["value"] > 0.9
    assert report["foot_skate"]["value"] < 0.01
    assert report["yaw_smoothness"]["value"] <= 0.5
    assert {"trajectory.png", "joints.png", "feet.png"} <= {path.name for path in (tmp_path / "demo").iterdir()}


def test_inspect(capsys, clips, trained):
    out = run(capsys, "inspect", clips / "walk0.bvh", trained).out
    assert "24 joints from Hips" in out and "preset 'controller'" in out and "held_out" in out
    assert "walk3" in run(capsys, "inspect", clips).out


def test_phase(capsys, clips, tmp_path):
    out = run(capsys, "phase", clips / "walk0.bvh", "-o", tmp_path / "labels").out
    assert "100% have a phase" in out and "walk0.npz" in out
    made = make_gait_clip("walk", seconds=4.0, fps=60, speed=1.0)
    for phase in (
        pfnnc.load_labels(tmp_path / "labels" / "walk0.npz").phase,
        pfnnc.load_phase(tmp_path / "labels" / "walk0.phase"),
    ):
        assert np.nanmean(np.abs(np.mod(phase - made.phase + 0.5, 1) - 0.5)) < 0.03
    assert "exists already" in run(capsys, "phase", clips / "walk0.bvh", "-o", tmp_path / "labels", code=1).err
    run(capsys, "phase", clips / "walk0.bvh", "-o", tmp_path / "labels", "--force")
    run(capsys, "phase", clips / "walk0.bvh", "-o", tmp_path / "none", "--dry-run")
    assert not (tmp_path / "none").exists()


def test_root_motion(capsys, clips):
    out = run(capsys, "root-motion", clips / "walk0.bvh", "--mode", "translation", "--to", 40).out
    assert "duration  4.0000 s" in out
    moved = [float(x) for x in next(line for line in out.splitlines() if line.startswith("delta")).split(":")[1].split()[:3]]
    assert moved[2] == pytest.approx(40.0, rel=0.01)
    for mode in ("planar", "full"):
        assert "in the root's frame" in run(capsys, "root-motion", clips / "walk0.bvh", "--mode", mode).out
    run(capsys, "root-motion", clips / "walk0.bvh", "--once")


def test_view(capsys, clips, tmp_path):
    page = tmp_path / "new" / "page.html"
    run(capsys, "view", clips / "walk0.bvh", clips / "walk1.bvh", "-o", page)
    text = page.read_text("utf-8")
    assert "walk0" in text and "walk1" in text
    assert "exists already" in run(capsys, "view", clips / "walk0.bvh", "-o", page, code=1).err
    assert "one or two" in run(capsys, "view", *[clips / f"walk{i}.bvh" for i in range(3)], "-o", page, code=1).err


def test_an_input_is_never_written_over(capsys, clips, tmp_path):
    clip = tmp_path / "a.bvh"
    clip.write_bytes((clips / "walk0.bvh").read_bytes())
    err = run(capsys, "view", clip, "-o", clip, "--force", code=1).err
    assert "that is an input" in err and clip.read_bytes() == (clips / "walk0.bvh").read_bytes()


def test_train_tells_what_it_left_out(capsys, clips, tmp_path):
    shown = run(capsys, "train", clips, "-o", tmp_path / "out", "--holdout", "walk1", *QUICK)
    assert "other.bvh: another skeleton (2 joints from a)" in shown.err
    assert "60 frames a second, resampled to 30" in shown.err
    settings = json.loads((tmp_path / "out" / "train.json").read_text())
    assert [name.rsplit("/", 1)[-1] for name in settings["held_out"]] == ["walk1.bvh"]
    assert len(settings["clips"]) == 3
    reference = load_bvh(tmp_path / "out" / "reference.bvh")
    assert reference.fps == 30 and len(reference) == 121
    model = pfnnc.MotionModel.load(tmp_path / "out" / "model.pfnnc")
    assert model.fps == 30 and model.model.hidden == 8


def test_a_scene_says_everything(capsys, clips, tmp_path):
    scene = tmp_path / "scene.toml"
    scene.write_text(
        f"""
        [clips]
        files = ["{clips.as_posix()}/walk*.bvh"]
        hold_out = ["walk2"]
        [windows]
        scales = [1.0]
        mirror = false
        [model]
        hidden = 8
        [training]
        epochs = 2
        [output]
        folder = "made"
        checkpoint = true
        """
    )
    run(capsys, "train", scene)
    made = tmp_path / "made"
    settings = json.loads((made / "train.json").read_text())
    assert settings["scene"]["options"]["hidden"] == 8 and settings["held_out"][0].endswith("walk2.bvh")
    for path in (made, made / "checkpoint.pfnnc"):
        out = run(capsys, "inspect", path).out
        assert '"hidden": 8' in out and '"hold_out"' in out and "walk2" in out
    run(capsys, "train", scene, "--force")  # all epochs are done: it goes on from the end
    run(capsys, "train", scene, "-o", tmp_path / "other", "--set", "hidden=4")
    assert pfnnc.MotionModel.load(tmp_path / "other" / "model.pfnnc").model.hidden == 4
    assert "hidden" in run(capsys, "train", scene, "--force", "--set", "hidden=4", code=1).err
    scene.write_text("[clips]\nfiles = []\n[modell]\n")
    assert "modell" in run(capsys, "train", scene, code=1).err


def test_units_are_told_apart(capsys, clips, tmp_path):
    clip = load_bvh(clips / "walk0.bvh")
    big = pfnnc.Skeleton(
        clip.skeleton.names, clip.skeleton.parents, 100 * clip.skeleton.offsets,
        end_sites=[(j, 100 * np.asarray(o)) for j, o in clip.skeleton.end_sites],
    )  # fmt: skip
    save_bvh(tmp_path / "cm.bvh", pfnnc.Clip(big, 100 * clip.root_positions, clip.rotations, 60))
    shown = run(capsys, "eval", tmp_path / "cm.bvh", clips / "walk0.bvh")
    assert "--scale 0.01" in shown.err
    assert "path_ratio                  1.0000" in shown.out
    shown = run(capsys, "eval", tmp_path / "cm.bvh", clips / "walk0.bvh", "--scale", 1)
    assert "--scale" not in shown.err and "path_ratio                100.0000" in shown.out


def test_the_same_motion_under_another_name_is_held_out_too(capsys, clips, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.bvh").write_bytes((clips / "walk0.bvh").read_bytes())
    (tmp_path / "c.bvh").write_bytes((clips / "walk1.bvh").read_bytes())
    shown = run(capsys, "train", tmp_path, "-o", tmp_path / "out", "--holdout", "a", *QUICK)
    assert "b.bvh is the same motion" in shown.err
    assert len(json.loads((tmp_path / "out" / "train.json").read_text())["clips"]) == 1


@pytest.mark.parametrize("named", [["--holdout", "walk3"], []])
def test_the_mirror_image_of_what_is_held_out_is_held_out_too(capsys, clips, tmp_path, named):
    for name in ("walk0", "walk1", "walk3"):
        (tmp_path / f"{name}.bvh").write_bytes((clips / f"{name}.bvh").read_bytes())
    save_bvh(tmp_path / "walk3_mirror.bvh", load_bvh(clips / "walk3.bvh").mirror())
    shown = run(capsys, "train", tmp_path, "-o", tmp_path / "out", *named, *QUICK)
    assert "or its mirror image: held out too" in shown.err
    settings = json.loads((tmp_path / "out" / "train.json").read_text())
    assert [Path(path).stem for path in settings["clips"]] == ["walk0", "walk1"]


def test_view_of_a_folder_begins_where_the_synthesis_went_on(capsys, trained, monkeypatch):
    shown = []
    monkeypatch.setattr("pfnnc.viewer.write_page", lambda path, clips, **_: shown.extend(clips))
    run(capsys, "synth", trained, "--seconds", 1, "--at", 1.5, "--force")
    run(capsys, "view", trained, "--force")
    made, reference = shown
    assert made.fps == reference.fps == 30 and len(made) == len(reference) == 30
    whole = load_bvh(trained / "reference.bvh")
    assert np.abs(reference.root_positions[0] - whole.root_positions[45]).max() < 0.15  # hardly trained


def test_phases_from_files_beside(capsys, clips, tmp_path):
    (tmp_path / "walk0.bvh").write_bytes((clips / "walk0.bvh").read_bytes())
    (tmp_path / "walk1.bvh").write_bytes((clips / "walk1.bvh").read_bytes())
    made = make_gait_clip("walk", seconds=4.0, fps=60, speed=1.0)
    pfnnc.save_phase(tmp_path / "walk0.phase", made.phase)
    shown = run(capsys, "train", tmp_path, "-o", tmp_path / "out", "--phases", "beside", *QUICK)
    assert "walk1.bvh: no phase file beside it" in shown.err
    stride = pfnnc.MotionModel.load(tmp_path / "out" / "model.pfnnc").avg_stride
    assert stride == pytest.approx(1.0 * made.strikes[0][1], rel=0.02)


def test_a_motion_of_a_model(capsys, clips, trained, tmp_path):
    run(capsys, "synth", trained, "-o", tmp_path / "a.bvh", "--seconds", 2)
    assert len(load_bvh(tmp_path / "a.bvh")) == 60
    run(
        capsys,
        "synth",
        trained / "model.pfnnc",
        clips / "walk0.bvh",
        "-o",
        tmp_path / "b.bvh",
        "--seconds",
        2,
        "--free",
        "--at",
        2,
    )
    clip, start = load_bvh(tmp_path / "b.bvh"), load_bvh(clips / "walk0.bvh")
    assert np.linalg.norm(clip.root_positions[0] - start.root_positions[120]) < 0.3
    assert "--at 99" in run(capsys, "synth", trained, "-o", tmp_path / "c.bvh", "--at", 99, code=1).err
    assert not (tmp_path / "c.bvh").exists()


def test_the_folder_knows_its_own(capsys, trained):
    run(capsys, "synth", trained, "--seconds", 1, "--force")
    run(capsys, "view", trained, "--force")
    assert "synth" in (trained / "view.html").read_text("utf-8")
    shown = run(capsys, "eval", trained)
    assert "trajectory_correlation" in shown.out and "found in each clip" in shown.out
    report = json.loads((trained / "eval" / "report.json").read_text())
    assert "foot_skate" in report["metrics"]


def test_clips_of_one_name_keep_their_own_outputs(capsys, clips, trained, tmp_path):
    again = tmp_path / "again" / "walk0.bvh"
    again.parent.mkdir()
    again.write_bytes((clips / "walk1.bvh").read_bytes())
    run(capsys, "eval", trained, clips / "walk0.bvh", again, "--seconds", 1, "-o", tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"walk0", "walk0_2"}
    shown = run(capsys, "phase", clips / "walk0.bvh", again, "-o", tmp_path / "labels", "--force", code=1)
    assert f"{again}: its labels would go over those of {clips / 'walk0.bvh'}" in shown.err


def test_eval_of_a_clip_against_itself(capsys, clips, tmp_path):
    copy = tmp_path / "copy.bvh"
    copy.write_bytes((clips / "walk0.bvh").read_bytes())
    out = run(capsys, "eval", copy, clips / "walk0.bvh", "-o", tmp_path / "report").out
    assert "6 of 6 goals reached" in out
    assert json.loads((tmp_path / "report" / "report.json").read_text())["passed"] is True
    assert "exists already" in run(capsys, "eval", copy, clips / "walk0.bvh", "-o", tmp_path / "report", code=1).err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once(capsys, clips, tmp_path):
    """Centimetres are read twice, the second time as they suggest: what came of a pipe has to be kept."""
    made = load_bvh(clips / "walk0.bvh")
    tree = made.skeleton
    save_bvh(
        tmp_path / "cm.bvh",
        pfnnc.Clip(pfnnc.Skeleton(tree.names, tree.parents, 100 * tree.offsets), 100 * made.root_positions, made.rotations, 60),
    )
    pipe = tmp_path / "pipe.bvh"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(pipe.write_bytes, (tmp_path / "cm.bvh").read_bytes())
        said = run(capsys, "export", pipe, "-o", tmp_path / "m.bvh").err
    assert "pipe read at --scale 0.01" in said
    assert np.allclose(load_bvh(tmp_path / "m.bvh").root_positions, made.root_positions, atol=1e-9)


def test_export(capsys, clips, tmp_path):
    run(capsys, "export", clips / "walk0.bvh", "-o", tmp_path / "a.bvh", "--rate", 30, "--mirror")
    clip, source = load_bvh(tmp_path / "a.bvh"), load_bvh(clips / "walk0.bvh")
    assert clip.fps == 30 and np.allclose(clip.root_positions[:, 0], -source.root_positions[::2, 0], atol=1e-6)
    run(capsys, "export", clips / "walk0.bvh", "-o", tmp_path / "a.html")
    assert "cannot write .png" in run(capsys, "export", clips / "walk0.bvh", "-o", tmp_path / "a.png", code=1).err
    pytest.importorskip("PIL")
    run(capsys, "export", clips / "walk0.bvh", "-o", tmp_path / "a.gif")
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF89a")


def test_export_gltf(capsys, clips, tmp_path):
    pytest.importorskip("pfnnc.gltf")
    run(capsys, "export", clips / "walk0.bvh", "-o", tmp_path / "a.glb")
    assert (tmp_path / "a.glb").read_bytes().startswith(b"glTF")


def test_export_a_model(capsys, trained, clips, tmp_path):
    """The network of a model, of a network's own file and of a checkpoint, for ONNX runtimes and the C core."""
    model = pfnnc.MotionModel.load(trained / "model.pfnnc")
    out = run(capsys, "export", trained, "--onnx", tmp_path / "walk.onnx").out
    names = {"walk.onnx", "walk.parity.npz", "walk.json"}
    assert {p.name for p in tmp_path.iterdir()} == names and all(f"wrote {tmp_path / n}" in out for n in names)
    checks, rows = np.load(tmp_path / "walk.parity.npz"), json.loads((tmp_path / "walk.json").read_text())
    assert np.array_equal(model.model(checks["x"], checks["phase"]), checks["y"])
    assert (rows["input"]["size"], rows["output"]["size"]) == (model.model.in_dim, model.model.out_dim)
    assert rows["input"]["columns"]["velocity"] == [0, 3] and len(rows["start"]) == 32
    assert "exists already" in run(capsys, "export", trained, "--onnx", tmp_path / "walk.onnx", code=1).err
    run(capsys, "export", trained / "model.pfnnc", "-o", tmp_path / "walk.onnx", "--force")

    run(capsys, "export", trained, "-o", tmp_path / "walk.pfnnc")
    assert (tmp_path / "walk.pfnnc").read_bytes() == (trained / "model.pfnnc").read_bytes()
    trainer = pfnnc.Trainer(model.model, average=0.5)
    trainer._average += 1
    trainer.save(tmp_path / "checkpoint.pfnnc")
    run(capsys, "export", tmp_path / "checkpoint.pfnnc", "-o", tmp_path / "net.pfnnc")
    net = pfnnc.SimplifiedPFNN.load(tmp_path / "net.pfnnc")
    assert np.array_equal(net.fc1.bias, model.model.fc1.bias + 1)
    run(capsys, "export", tmp_path / "net.pfnnc", "-o", tmp_path / "net.onnx")
    assert (tmp_path / "net.parity.npz").exists() and not (tmp_path / "net.json").exists()


def test_an_exported_model_walks_in_another_runtime(capsys, trained, clips, tmp_path):
    """What the .json says of the rows is enough: windows built by it and run by onnxruntime give the package's frames."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, which the package does not require")
    run(capsys, "export", trained, "--onnx", tmp_path / "walk.onnx")
    rows = json.loads((tmp_path / "walk.json").read_text())
    runtime = onnxruntime.InferenceSession(str(tmp_path / "walk.onnx"), providers=["CPUExecutionProvider"])
    checks = np.load(tmp_path / "walk.parity.npz")
    (y,) = runtime.run(None, {"x": checks["x"], "phase": checks["phase"]})
    np.testing.assert_allclose(y, checks["y"], rtol=0, atol=2e-5 * np.abs(checks["y"]).max())

    model, asked = pfnnc.MotionModel.load(trained / "model.pfnnc"), []
    network = model.model

    class Spy:
        in_dim, out_dim, dtype = network.in_dim, network.out_dim, network.dtype

        def __call__(self, x, phase):
            asked.append((x, phase))
            return network(x, phase)

    model.model = Spy()
    start = load_bvh(clips / "walk0.bvh").resample(30)[:40]
    made = model.synthesize(start, 1, phase=0.25)
    (x, phase), columns = asked[0], rows["input"]["columns"]
    mean, scale, low, high = (np.array(rows["output"][name]) for name in ("mean", "scale", "low", "high"))
    length = rows["input"]["frames"]
    known = slice(0, columns["contacts"][0])  # a start's contacts are guessed
    history = (model.spec.encode(start, contacts=np.zeros((40, 2)))[-length:] - mean) / scale
    np.testing.assert_allclose(x[0, : history.size].reshape(history.shape)[:, known], history[:, known], atol=1e-5)
    assert x.shape == (1, history.size + 4 * len(rows["input"]["control_times"]))
    (y,) = runtime.run(None, {"x": x, "phase": phase.astype(np.float32)})
    frame = np.clip(y[0, : len(mean)] * scale + mean, low, high)
    np.testing.assert_allclose(made.features[0, slice(*columns["velocity"])], frame[slice(*columns["velocity"])], atol=1e-4)


def test_bench(capsys):
    out = run(capsys, "bench", "--seconds", 0.01).out
    assert out.count("/s") == 6 and "windows/s" in out


def test_eval_at_two_rates(capsys, clips, tmp_path):
    save_bvh(tmp_path / "slow.bvh", load_bvh(clips / "walk0.bvh").resample(30))
    shown = run(capsys, "eval", tmp_path / "slow.bvh", clips / "walk0.bvh")
    assert "resampled to the recording's 60" in shown.err and "goals reached" in shown.out


def test_the_blend_tree_leaves_out_what_has_no_whole_cycle(capsys):
    from pfnnc.cli_compare import _tree_of
    from pfnnc.cli_model import Take
    from pfnnc.cli_read import Failure

    made = pfnnc.make_gait_clip("walk", seconds=4.0)
    takes = [Take(Path("long.bvh"), made.clip, made.phase), Take(Path("short.bvh"), made.clip[:20], made.phase[:20])]
    assert len(_tree_of(takes)) == 1
    assert "short.bvh has no whole gait cycle" in capsys.readouterr().err
    with pytest.raises(Failure, match="nothing to blend"):
        _tree_of(takes[1:])


def test_blind_test(capsys, trained, tmp_path):
    page, key = tmp_path / "blind.html", tmp_path / "blind.key.json"
    run(capsys, "compare", trained, "-o", page, "--trials", 2, "--seconds", 1, "--seed", 1)
    text = page.read_text("utf-8")
    assert "network" not in text and "blend tree" not in text  # nothing in the page gives it away
    known = json.loads(key.read_text())
    assert sorted(trial["A"] for trial in known["trials"]) == ["blend tree", "network"]  # each side as often
    assert sorted(trial["B"] for trial in known["trials"]) == ["blend tree", "network"]
    for name, choice in (("a", "A"), ("b", "B"), ("c", "same")):
        votes = [{"trial": 1, "choice": choice, "seconds": 1.0}, {"trial": 2, "choice": "same", "seconds": 1.0}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"test": known["test"], "votes": votes}))
    voted = [tmp_path / f"{name}.json" for name in "abc"]
    out = run(capsys, "compare", "--count", key, *voted).out
    assert "3 voters: network 1, blend tree 1, no difference 4" in out and "1.000" in out
    assert run(capsys, "compare", "--count", key, *voted, *voted).out == out  # a file counts once
    voted[0].write_text(json.dumps({"test": known["test"], "votes": [{"trial": 1, "choice": c} for c in "BA"]}))
    again = run(capsys, "compare", "--count", key, voted[0]).out
    won = known["trials"][0]["A"]  # the second thought of the first trial
    assert f"{won} 1" in again.splitlines()[0] and "1 voter: " in again and "no difference 0" in again
    voted[0].write_text(json.dumps({"test": "other", "votes": []}))
    assert "another test" in run(capsys, "compare", "--count", key, *voted, code=1).err
    for wrong in ({}, {"test": known["test"], "votes": [{"trial": 0, "choice": "same"}]},
                  {"test": known["test"], "votes": [{"trial": 1, "choice": "C"}]}):  # fmt: skip
        voted[0].write_text(json.dumps(wrong))
        assert "no votes" in run(capsys, "compare", "--count", key, *voted, code=1).err
    assert "no key" in run(capsys, "compare", "--count", voted[0], *voted, code=1).err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["inspect", "nothing"], "nothing: no such file or folder"),
        (["inspect", "{empty}"], "no .bvh file in this folder"),
        (["view", "nothing.bvh"], "nothing.bvh: "),
        (["phase", "nothing.bvh"], "nothing.bvh: no such file or folder"),
        (["train", "nothing", "-o", "{empty}/out"], "nothing: no such file or folder"),
        (["train", "{empty}", "-o", "{empty}/out"], "no .bvh file in this folder"),
        (["train", "{clips}", "-o", "{empty}/out", "--holdout", "walk9"], "--holdout walk9: there is no such clip"),
        (["train", "{clips}", "-o", "{empty}/out", "--set", "hidden"], "expected NAME=VALUE"),
        (["train", "{clips}", "-o", "{empty}/out", "--set", "nonsense=3"], "nonsense"),
        (["train", "{clips}", "-o", "{empty}/out", "--set", "hidden=-3"], "hidden"),
        (["train", "{clips}/other.bvh", "-o", "{empty}/out"], "name them with --feet LEFT RIGHT"),
        (["train", "{clips}/other.bvh", "-o", "{empty}/out", "--feet", "a", "c"], "c"),
        (["train", "{clips}/other.bvh", "-o", "{empty}/out", "--feet", "a", "b"], "must be joints of two legs"),
        (["synth", "{empty}"], "no model.pfnnc in this folder"),
        (["synth", "{clips}/walk0.bvh", "-o", "{empty}/x.bvh"], "is no motion-model file"),
        (["synth", "{trained}", "{clips}/other.bvh", "-o", "{empty}/x.bvh"], "joints that this one lacks"),
        (["synth", "{trained}", "-o", "{empty}/x.bvh", "--seconds", "1e12"], "more than 1000000 frames"),
        (["demo", "-o", "{bad}"], "bad.bvh"),
        (["demo", "-o", "{empty}", "--seconds", "0.01"], "expected 1 to 600"),
        (["eval", "nowhere"], "nowhere: no such file or folder"),
        (["eval", "{clips}/walk0.bvh", "{clips}/other.bvh"], "predicted has"),
        (["eval", "{clips}/walk0.bvh"], "needs one recording"),
        (["eval", "{clips}/walk0.bvh", "{clips}/walk0.bvh"], "two different"),
        (["root-motion", "{clips}/walk0.bvh", "--from", "1e300"], "t0"),
        (["view", "{clips}"], "that is a folder"),
        (["root-motion", "{clips}"], "that is a folder"),
        (["export", "{clips}", "-o", "{empty}/x.bvh"], "that is a folder"),
        (["synth", "{trained}", "{clips}", "-o", "{empty}/x.bvh"], "that is a folder"),
        (["eval", "{clips}", "{clips}/walk0.bvh"], "that is a folder"),
        (["compare", "{trained}", "-o", "{empty}/x.html", "--trials", "0"], "at least one pair"),
        (["view", "{clips}/walk0.bvh", "-o", "{clips}"], "that is a folder"),
        (["view", "{bad}"], "bad.bvh:1"),
        (["phase", "{bad}"], "bad.bvh:1"),
        (["export", "{clips}/walk0.bvh", "--onnx", "{empty}/x.onnx"], "walk0.bvh: that is no model"),
        (["export", "{trained}", "--onnx", "{empty}/x.bin"], "name a file that ends in .onnx"),
        (["export", "{trained}", "-o", "{empty}/x.glb"], "`pfnnc synth` makes a clip of it"),
        (["export", "{trained}", "-o", "{empty}/x.txt"], "cannot write .txt; there are .onnx .safetensors .pfnnc"),
        (["export", "{trained}", "-o", "{empty}/x.onnx", "--mirror"], "--mirror is for clips"),
        (["export", "{trained}/model.pfnnc", "-o", "{trained}/model.pfnnc", "--force"], "that is an input"),
        (["export", "{empty}", "--onnx", "{empty}/x.onnx"], "that is a folder; name a BVH file"),
    ],
)
def test_failures_are_one_line(capsys, clips, trained, tmp_path, arguments, message):
    empty = tmp_path / "empty"
    empty.mkdir()
    bad = tmp_path / "bad.bvh"
    bad.write_text("HIERARCHY no")
    names = {"clips": clips, "trained": trained, "empty": empty, "bad": bad}
    err = run(capsys, *(a.format(**names) for a in arguments), code=1).err
    last = err.strip().splitlines()[-1]
    assert last.startswith("pfnnc: ") and message in last
    assert "Traceback" not in err
    assert not (empty / "out" / "model.pfnnc").exists() and not (empty / "x.bvh").exists()
    assert "no such file" not in message or not (empty / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["train"], ["train", "x"], ["demo", "--seconds", "nan"], ["export", "x"],
     ["export", "x", "-o", "a.onnx", "--onnx", "b.onnx"], ["synth", "m", "--seconds", "-1"],
     ["view"], ["train", "x", "-o", "y", "--scale", "0"], ["train", "x", "-o", "y", "--seed", "-1"]],
)  # fmt: skip
def test_wrong_usage_is_two(capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: pfnnc" in capsys.readouterr().err


def test_interrupt(capsys, monkeypatch, clips):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pfnnc.cli_look.describe", interrupted)
    assert "stopped" in run(capsys, "inspect", clips, code=130).err


def test_help_and_version(capsys):
    commands = "demo inspect phase root-motion view train synth eval play compare export bench".split()
    for arguments in (["--help"], *([command, "--help"] for command in commands)):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        shown = capsys.readouterr().out
        assert stopped.value.code == 0 and "usage: pfnnc" in shown
        if arguments == ["--help"]:
            assert all(f"  {command}" in shown for command in commands)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert pfnnc.__version__ in capsys.readouterr().out


def test_traceback_on_demand(capsys):
    assert "Traceback" in run(capsys, "--traceback", "inspect", "nothing", code=1).err


def test_as_a_program(clips):
    done = subprocess.run([sys.executable, "-m", "pfnnc", "inspect", clips / "walk0.bvh"], capture_output=True, text=True)
    assert done.returncode == 0 and "24 joints" in done.stdout
    done = subprocess.run([sys.executable, "-m", "pfnnc", "inspect", "none"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "pfnnc: none: no such file or folder\n"


@pytest.mark.parametrize("command, last", [("eval", "references"), ("synth", "start"), ("train", "paths")])
def test_a_file_may_stand_behind_an_option(command, last):
    args = make_parser().parse_args([command, "walker", "-o", "out", "clip.bvh"])
    assert args.output == "out" and "clip.bvh" in getattr(args, last)


def test_a_checkpoint_of_other_epochs_is_named_with_its_file(tmp_path):
    made = make_gait_clip("walk", seconds=4.0, fps=30, seed=1)
    options = dict(phases=[made.phase], progress=False, checkpoint=tmp_path / "kept.pfnnc", windows=100, hidden=4, mirror=False)
    pfnnc.MotionModel.train([made.clip], epochs=1, **options)
    with pytest.raises(
        ValueError, match=r"kept.pfnnc: the checkpoint was made with t_max \(the number of epochs\)=1, expected 2"
    ):
        pfnnc.MotionModel.train([made.clip], epochs=2, **options)


def test_a_misspelt_recipe_option_is_told_before_clips_are_read(capsys, tmp_path, monkeypatch):
    (tmp_path / "a.bvh").write_text("no clip")
    shown = run(capsys, "train", tmp_path, "-o", tmp_path / "out", "--set", "hiden=3", code=1)
    assert "unknown option 'hiden'; did you mean hidden?" in shown.err and "left out" not in shown.err


def test_train_tells_of_a_jump_of_the_root(capsys, tmp_path):
    made = make_gait_clip("walk", seconds=4.0, fps=30, seed=1).clip
    where = made.root_positions.copy()
    where[100:, 0] += 2.2
    save_bvh(tmp_path / "torn.bvh", pfnnc.Clip(made.skeleton, where, made.rotations, made.fps))
    gather([tmp_path / "torn.bvh"], Reading(1.0, "y"), 30.0)
    assert "torn.bvh: the root jumps 2.2" in (told := capsys.readouterr().err) and "between frames 99 and 100 of" in told


def test_synth_tells_where_the_path_ends(capsys, trained, tmp_path):
    length = len(load_bvh(trained / "reference.bvh"))
    told = run(capsys, "synth", trained, "-o", tmp_path / "long.bvh", "--seconds", 9, "--at", 2).out
    assert f"along its path, which ends after {(length - 60) / 30:.2f} s" in told
    told = run(capsys, "synth", trained, "-o", tmp_path / "short.bvh", "--seconds", 1, "--at", 2).out
    assert "along its path\n" in told


def test_an_option_that_is_none_shows_the_usage_of_its_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["synth", "walker", "--nope"])
    assert stopped.value.code == 2
    assert "pfnnc synth: error: unrecognized arguments: --nope" in capsys.readouterr().err
