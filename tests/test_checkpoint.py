"""Checkpoints: whole or absent, the same bits after any interruption, clear errors."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pfnnc
from pfnnc import FeatureSpec, SimplifiedPFNN, Skeleton, Trainer
from pfnnc.checkpoint import is_checkpoint

RUN = """
import signal, sys, numpy as np
from pfnnc import SimplifiedPFNN, Trainer
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would we
path, epochs = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
data = rng.normal(size=(600, 2, 8)), rng.normal(size=(600, 2, 8)), rng.random(600)
try:
    trainer = Trainer.load(path)
except FileNotFoundError:
    trainer = Trainer(SimplifiedPFNN(16, 8, 32, seed=0), batch_size=16, noise=0.1, dropout=0.1, rollout=2, average=0.9)
print("ready", flush=True)
trainer.fit(data, epochs=epochs, checkpoint=path, callback=lambda report: report.epoch == 1 and print("saved", flush=True))
"""


def data(count=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, 2, 8)), rng.normal(size=(count, 2, 8)), rng.random(count)


def trainer(**options):
    return Trainer(SimplifiedPFNN(16, 8, 12, 4, seed=0), batch_size=16, **options)


def test_a_loaded_run_ends_in_the_same_bits(tmp_path):
    options = {
        "noise": 0.1,
        "dropout": 0.2,
        "velocity_weight": "auto",
        "rollout": (1, 2),
        "t_max": 6,
        "average": 0.9,
        "clip_norm": 1.0,
    }
    whole = trainer(**options).fit(data(), data(), epochs=6)
    part = trainer(**options).fit(data(), data(), epochs=2)
    part.fit(data(), data(), epochs=6, max_seconds=0)  # one step into the third epoch
    part.save(tmp_path / "run")
    loaded = Trainer.load(tmp_path / "run")
    assert (loaded.epoch, loaded.lr, loaded.history) == (part.epoch, part.lr, part.history)
    loaded.fit(data(), data(), epochs=6)
    assert loaded.history == whole.history
    for name, value in whole.model.state_dict().items():
        assert np.array_equal(loaded.model.state_dict()[name], value), name
    assert np.array_equal(loaded.averaged()._parameters, whole.averaged()._parameters)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_checkpoint_holds_the_model_and_all_options(tmp_path, dtype):
    names = ["Hips", "LeftFoot", "RightFoot"]
    skeleton = Skeleton(names, [-1, 0, 0], [[0, 0, 0], [0.1, -1, 0], [-0.1, -1, 0]], end_sites=[(1, (0, 0, 0.2))])
    model = SimplifiedPFNN(60, 21, 9, 5, 20.0, kernel="cyclic", activation="elu", seed=3, dtype=dtype)
    spec = FeatureSpec(names, contacts=True)
    options = {"lr": 0.1, "feet": ("LeftFoot_end", 2), "skeleton": skeleton, "spec": spec, "contact_weight": 2.0}
    first = Trainer(model, betas=(0.8, 0.99), rollout=(2, 3), **options)
    first.save(tmp_path / "run")
    second = Trainer.load(tmp_path / "run")
    assert second._options == first._options and second._feet == first._feet and second._spec == spec
    assert second._skeleton.names == names and np.array_equal(second._skeleton.offsets, skeleton.offsets)
    assert repr(second.model) == repr(model) and np.array_equal(second.model._parameters, model._parameters)
    assert second.epoch == 0 and second.history == []


def test_fit_saves_after_each_epoch_before_the_callback_and_keeps_the_previous_file(tmp_path):
    path, seen = tmp_path / "run.pfnnc", []
    trainer().fit(data(), epochs=3, checkpoint=path, callback=lambda r: seen.append((r.epoch, Trainer.load(path).epoch)))
    assert seen == [(1, 1), (2, 2), (3, 3)]
    assert sorted(os.listdir(tmp_path)) == ["run.pfnnc", "run.pfnnc.previous"]
    assert Trainer.load(tmp_path / "run.pfnnc.previous").epoch == 2


def test_every_damage_is_a_value_error(tmp_path):
    path, broken = tmp_path / "run", tmp_path / "broken"
    trainer().fit(data(), epochs=1).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 1, 7, 63, 64, 200, *rng.integers(0, len(whole), 40)]:
        broken.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="broken"):
            Trainer.load(broken)
    for place in [*range(28), *rng.integers(0, len(whole), 100)]:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        broken.write_bytes(changed)
        with pytest.raises(ValueError, match="broken"):
            Trainer.load(broken)
    broken.write_bytes(whole + b"\0")
    with pytest.raises(ValueError, match="broken"):
        Trainer.load(broken)


def test_foreign_and_missing_files(tmp_path):
    SimplifiedPFNN(4, 3, 2).save(tmp_path / "network")
    with pytest.raises(ValueError, match="it holds a network"):
        Trainer.load(tmp_path / "network")
    (tmp_path / "text").write_text("HIERARCHY\n" * 100)
    with pytest.raises(ValueError, match="text is no checkpoint file of pfnnc"):
        Trainer.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        Trainer.load(tmp_path / "absent")
    with pytest.raises(OSError):
        Trainer.load(tmp_path)
    for odd in (None, 1, True, b"x" * 3, 1.5):  # a number is no open file
        with pytest.raises((TypeError, FileNotFoundError)):
            Trainer.load(odd)
        with pytest.raises(TypeError):
            is_checkpoint(odd)
    os.fstat(1)
    assert not is_checkpoint(tmp_path / "text") and not is_checkpoint(tmp_path / "absent") and not is_checkpoint(tmp_path)


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "run"
    run = trainer().fit(data(), epochs=1, checkpoint=path)
    kept = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        run.save(path)
    with pytest.raises(OSError, match="No space"):
        run.fit(data(), epochs=2, checkpoint=path)
    assert path.read_bytes() == kept and os.listdir(tmp_path) == ["run"]
    monkeypatch.undo()
    assert run.epoch == 2  # nothing of the run itself is lost
    run.save(path)
    assert Trainer.load(path).epoch == 2


def test_a_disk_that_is_full_loses_nothing(tmp_path):
    """A true write error in the middle of the file: the old one stands, and the run ends in the bits of an undisturbed one."""
    resource = pytest.importorskip("resource", reason="needs POSIX limits")
    path = tmp_path / "run"
    run = trainer().fit(data(), epochs=1, checkpoint=path)
    kept, (soft, hard) = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) // 2, hard))
    try:
        with pytest.raises(OSError):
            run.fit(data(), epochs=5, checkpoint=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == kept and os.listdir(tmp_path) == ["run"] and run.epoch == 2
    run.fit(data(), epochs=5, checkpoint=path)
    whole = trainer().fit(data(), epochs=5)
    assert run.history == whole.history and np.array_equal(run.model._parameters, whole.model._parameters)
    assert np.array_equal(Trainer.load(path).model._parameters, whole.model._parameters)


def test_leftovers_of_a_killed_save_are_swept_away(tmp_path):
    for name in ("run", "r" * 60):
        for part in (f".{name}.123.part", f".{name[:40]}.0123456789ab.part"):
            (tmp_path / part).write_bytes(b"half")
        trainer().fit(data(), epochs=1, checkpoint=tmp_path / name)
        assert os.listdir(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        trainer().save(tmp_path / "no" / "run")
    with pytest.raises(OSError):
        trainer().save(tmp_path)
    assert os.listdir(tmp_path) == []


def start(path, epochs):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(path), str(epochs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(pfnnc.__file__).parents[1],  # the package that is tested, wherever it is
    )


def finish(process):
    try:
        _, error = process.communicate(timeout=600)
    finally:
        process.kill()
    return process.returncode, error


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_in_the_same_bits(tmp_path):
    """kill -9 while it trains and saves, twelve times, then to the end: the bits of an undisturbed run."""
    plain, disturbed = tmp_path / "plain", tmp_path / "disturbed"
    assert finish(start(plain, 60))[0] == 0
    rng = np.random.default_rng(0)
    for _ in range(12):
        process = start(disturbed, 60)
        process.stdout.readline()
        time.sleep(float(rng.uniform(0, 0.15)))
        process.kill()
        process.communicate()
        assert not disturbed.exists() or Trainer.load(disturbed).epoch >= 0
    assert finish(start(disturbed, 60))[0] == 0
    a, b = Trainer.load(plain), Trainer.load(disturbed)
    assert a.epoch == b.epoch == 60 and a.history == b.history
    assert np.array_equal(a.model._parameters, b.model._parameters)
    assert sorted(os.listdir(tmp_path)) == ["disturbed", "disturbed.previous", "plain", "plain.previous"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_finishes_the_step_saves_and_says_how_to_go_on(tmp_path):
    path = tmp_path / "run"
    process = start(path, 100_000)
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "saved\n"]
    process.send_signal(signal.SIGINT)
    code, error = finish(process)
    assert code != 0 and "KeyboardInterrupt" in error
    assert f"saved to {path}; go on with Trainer.load" in error
    stopped = Trainer.load(path)
    assert stopped.epoch > 0
    rng = np.random.default_rng(0)
    windows = rng.normal(size=(600, 2, 8)), rng.normal(size=(600, 2, 8)), rng.random(600)
    epochs = stopped.epoch + 1
    stopped.fit(windows, epochs=epochs)
    whole = Trainer(SimplifiedPFNN(16, 8, 32, seed=0), batch_size=16, noise=0.1, dropout=0.1, rollout=2, average=0.9)
    whole.fit(windows, epochs=epochs)
    assert np.array_equal(stopped.model._parameters, whole.model._parameters)


def test_a_run_that_is_told_anew_must_be_the_same(tmp_path):
    first = trainer(lr=0.01)
    first.about = {"scene": {"files": ["a.bvh"]}}
    first.save(tmp_path / "run")
    loaded = Trainer.load(tmp_path / "run")
    assert loaded.about == first.about and loaded.like(trainer(lr=0.01)) is loaded
    with pytest.raises(ValueError, match="made with lr=0.01, expected 0.02"):
        loaded.like(trainer(lr=0.02))
    with pytest.raises(ValueError, match="model is SimplifiedPFNN"):
        loaded.like(Trainer(SimplifiedPFNN(16, 8, 13, 4), batch_size=16, lr=0.01))
    with pytest.raises(TypeError, match="other must be a Trainer"):
        loaded.like(None)
