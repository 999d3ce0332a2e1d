"""Scene files: what they say is taken, what is wrong is named."""

import json

import pytest

import pfnnc
from pfnnc import Trainer
from pfnnc.cli import main
from pfnnc.scene import load_scene


@pytest.fixture
def write(tmp_path):
    """Write a scene beside three empty clips; the path of the scene."""
    for name in ("walk_1.bvh", "walk_2.bvh", "turn.bvh"):
        (tmp_path / name).write_text("HIERARCHY")

    def scene(text):
        path = tmp_path / "scene.toml"
        path.write_text(text)
        return path

    return scene


WHOLE = """
[clips]
files = ["walk_*.bvh", "turn.bvh", "walk_1.bvh"]
hold_out = ["turn"]
scale = 0.01
up = "z"
fps = 60
root = "Hips"
feet = ["LeftFoot", "RightFoot"]
rate = 25
phases = "beside"
phase_unit = "pi"
[features]
joints = ["Hips", "Spine"]
representation = "6d"
times = [0.5, 1]
[windows]
input_len = 3
scales = [1, 1.2]
[model]
hidden = 64
kernel = "cyclic"
[training]
preset = "article"
epochs = 7
seed = 3
lr = 0.01
rollout = [2, 4]
velocity_weight = "auto"
[output]
folder = "out"
checkpoint = true
"""


def test_a_whole_scene(write, tmp_path):
    scene = load_scene(write(WHOLE))
    assert [file.name for file in scene.files] == ["walk_1.bvh", "walk_2.bvh", "turn.bvh"]
    assert scene.hold_out == ("turn",) and scene.rate == 25 and (scene.phases, scene.phase_unit) == ("beside", "pi")
    assert scene.reading == {"scale": 0.01, "up": "z", "fps": 60, "root": "Hips", "feet": ("LeftFoot", "RightFoot")}
    assert (scene.preset, scene.epochs, scene.seed, scene.max_seconds) == ("article", 7, 3, None)
    assert scene.options == {
        "joints": ["Hips", "Spine"],
        "representation": "6d",
        "times": [0.5, 1],
        "input_len": 3,
        "scales": [1, 1.2],
        "hidden": 64,
        "kernel": "cyclic",
        "lr": 0.01,
        "rollout": [2, 4],
        "velocity_weight": "auto",
    }
    assert scene.folder == tmp_path / "out" and scene.checkpoint
    assert json.loads(json.dumps(scene.resolved()))["hold_out"] == ["turn"]


def test_the_least_scene(write):
    scene = load_scene(write('clips.files = ["turn.bvh"]'))
    assert (scene.preset, scene.options, scene.reading, scene.folder) == ("controller", {}, {}, None)


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("", ValueError, "clips.files is missing"),
        ("[clips", ValueError, "is not TOML: Expected"),
        ("[klips]\nfiles=[]", ValueError, "klips is no table of a scene; did you mean clips"),
        ("clips = 3", TypeError, "clips must be a table, got 3"),
        ("clips.files = 'turn.bvh'", TypeError, "clips.files must be a list of strings"),
        ("clips.files = []", ValueError, "clips.files must hold at least one"),
        ("clips.files = [3]", TypeError, r"clips.files\[0\] must be a string, got 3"),
        ("clips.files = ['run*.bvh']", ValueError, r"clips.files\[0\]='run\*.bvh' is no file"),
        ("clips.hold_out = ['turm']", ValueError, r"clips.hold_out\[0\]='turm' is none of the files; did you mean turn"),
        ("clips.scale = 0", ValueError, "clips.scale must be greater than 0, got 0"),
        ("clips.scale = '1'", TypeError, "clips.scale must be a number"),
        ("clips.up = 'x'", ValueError, "clips.up must be 'y' or 'z', got 'x'"),
        ("clips.fps = nan", ValueError, "clips.fps"),
        ("clips.feet = ['a']", ValueError, "clips.feet must be two names"),
        ("clips.rates = 30", ValueError, "clips.rates is no key of a scene; did you mean rate"),
        ("features.representation = 'euler'", ValueError, "features.representation must be"),
        ("features.height = 1", TypeError, "features.height must be True or False"),
        ("features.times = [1, 0.5]", ValueError, r"features.times\[1\]"),
        ("features.joints = ['Hips', 3]", TypeError, r"features.joints\[1\]"),
        ("windows.input_len = 0", ValueError, "windows.input_len must be at least 1"),
        ("windows.scales = [0]", ValueError, r"windows.scales\[0\]"),
        ("model.hidden = 'big'", TypeError, "model.hidden must be an integer"),
        ("model.kernel = 'linear'", ValueError, "model.kernel must be"),
        ("model.beta = -1", ValueError, "model.beta"),
        ("training.epocs = 3", ValueError, "training.epocs is no key of a scene; did you mean epochs"),
        ("training.epochs = -3", ValueError, "training.epochs must be at least 0"),
        ("training.lr = -1", ValueError, "training.lr must be at least 0, got -1"),
        ("training.rollout = 0", ValueError, r"training.rollout must be at least 1|training.rollout must be in"),
        ("training.preset = 'mine'", ValueError, "training.preset must be"),
        ("training.model = 'x'", ValueError, "training.model is no key"),
        ("training.seed = 1.5", TypeError, "training.seed"),
        ("output.folder = 3", TypeError, "output.folder must be a string"),
        ("output.checkpoint = 'yes'", TypeError, "output.checkpoint must be True or False"),
    ],
)
def test_errors_name_file_and_key(write, text, error, match):
    if "files" not in text and text not in ("", "clips = 3", "[clips"):
        text = f"clips.files = ['*.bvh']\n{text}"
    with pytest.raises(error, match=match) as caught:
        load_scene(write(text))
    assert "scene.toml" in str(caught.value)


def test_files_that_are_no_scene(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_scene(tmp_path / "absent.toml")
    with pytest.raises(OSError):
        load_scene(tmp_path)
    path = tmp_path / "scene.toml"
    path.write_bytes(b"clips.files = ['\xff']")
    with pytest.raises(ValueError, match="UTF-8"):
        load_scene(path)
    path.write_text("a = " + "[" * 5000)
    with pytest.raises(ValueError, match=r"TOML"):
        load_scene(path)


def test_the_command_line_trains_a_scene_and_resumes(tmp_path, capsys):
    for seed, kind in enumerate(("walk", "turn")):
        pfnnc.save_bvh(tmp_path / f"{kind}.bvh", pfnnc.make_gait_clip(kind, seconds=4, seed=seed).clip)
    (tmp_path / "scene.toml").write_text(
        "clips = {files = ['*.bvh'], hold_out = ['turn']}\nmodel.hidden = 8\nwindows = {output_len = 2, scales = [1]}\n"
        "training = {epochs = 1, rollout = 2}\noutput = {folder = 'out', checkpoint = true}"
    )
    assert main(["train", str(tmp_path / "scene.toml")]) == 0
    checkpoint = tmp_path / "out" / "checkpoint.pfnnc"
    assert Trainer.load(checkpoint).epoch == 1
    assert Trainer.load(checkpoint).about["scene"]["hold_out"] == ["turn"]
    capsys.readouterr()
    assert main(["inspect", str(checkpoint)]) == 0
    shown = capsys.readouterr().out
    assert "1 epochs done" in shown and "walk.bvh" in shown and "rollout=[2]" in shown
    assert main(["train", str(tmp_path / "scene.toml"), "--force"]) == 0  # nothing is left to do
    assert main(["train", str(tmp_path / "scene.toml"), "--force", "--set", "hidden=9"]) != 0
    assert "the checkpoint's model is" in capsys.readouterr().err
