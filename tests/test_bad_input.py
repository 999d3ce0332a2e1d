"""Whatever is put in the place of an argument, a call gives a value or an error of a kind that says what is wrong."""

import decimal
import fractions
import os
import pathlib

import numpy as np

import pfnnc
from pfnnc import (
    Character,
    Clip,
    Controller,
    Drift,
    FeatureSpec,
    LoopClock,
    MotionModel,
    Normalizer,
    PFNNLayer,
    RootTrack,
    SimplifiedPFNN,
    Skeleton,
    Trainer,
    Trajectory,
    WindowDataset,
    make_gait_clip,
)  # fmt: skip
from pfnnc.checkpoint import is_checkpoint
from pfnnc.onnx import export_onnx


class Grumpy:
    """Looks like an array and is none."""

    def __array__(self, *_, **__):
        raise TypeError("no array")

    def __float__(self):
        raise TypeError("no number")


ODD = [
    None, True, 0, 1, -1, 2.5, -2.5, float("nan"), float("inf"), 1e308, 5e-324, 10**30, -(10**30), 1 << 63, 1j, "", "walk",
    "\0", "x" * 3000, b"", b"x", bytearray(b"x"), [], (), {}, {1: 2}, set(), [1, 2, 3], [[1, 2], [3]], [None], ["a"], object(),
    int, float, len, range(3), pathlib.Path("/none/of/these"), decimal.Decimal("1.5"), fractions.Fraction(1, 3), Grumpy(),
    np.float32(0.5), np.float64("nan"), np.int64(3), np.bool_(True), np.array(0.5), np.array([]), np.zeros(3), np.zeros((2, 3)),
    np.zeros((0, 3)), np.full((4, 4), np.nan), np.array(["a"]), np.array([None]), np.array([1j]), np.zeros(3, bool),
    np.zeros((3, 3), ">f4"), np.zeros((1, 2, 3)), np.datetime64("2020"), np.zeros(2, [("a", "f8")]),
]  # fmt: skip
ERRORS = (ValueError, TypeError, OSError, FloatingPointError)  # of these kinds, and with a message
LARGE = {"n_frames", "epochs", "hidden", "in_dim", "out_dim", "crowd"}  # a large number may be right, and takes long


def network(**options):
    return SimplifiedPFNN(10, 5, 4, 4, seed=0, **options)


def arrays(rows=6):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, 2, 5)), rng.normal(size=(rows, 1, 5)), rng.random(rows)


def demo_model():
    return MotionModel.load(os.path.join(os.path.dirname(pfnnc.__file__), "data", "demo.pfnnc"))


def calls():
    """Functions, each with arguments that are right."""
    made = make_gait_clip("walk", seconds=2.0)
    clip, model, data = made.clip, network(), arrays()
    spec = FeatureSpec(24)
    rows = spec.encode(clip)
    normalizer = Normalizer("all").fit(rows)
    walker = demo_model()
    small = FeatureSpec(3, frame="heading")
    answer = SimplifiedPFNN(small.in_dim(4), small.out_dim, 4, 4, seed=0)
    window = np.random.default_rng(0).normal(0, 0.3, (4, small.dim))
    character = Character(answer, small, None, window, 0.2, 1.2)
    controller = Controller(walker.character(clip))
    clock, track = LoopClock(1.3), RootTrack([0, 0.5, 1], [0, 1, 2.0])
    run = dict(model=answer, spec=small, normalizer=None, init_window=window, phase=0.2, avg_stride=1.2, drift=None)
    options = dict(
        lr=1e-3, weight_decay=1e-4, betas=(0.9, 0.999), eps=1e-8, t_max=20, eta_min=1e-5, velocity_weight=0.1,
        contact_weight=0.0,
        skeleton=None, feet=(), rollout=1, noise=0.0, batch_size=4, shuffle=True, seed=0, spec=None, normalizer=None, fps=30.0,
        avg_stride=None, clip_norm=None, warmup=0, schedule="epoch", average=0.0, rotation_loss="component",
    )  # fmt: skip
    sizes = dict(n_kernels=4, beta=8.0, kernel="rbf", seed=0, dtype=np.float32)
    return {
        "PFNNLayer": (PFNNLayer, dict(in_dim=3, out_dim=2, **sizes)),
        "SimplifiedPFNN": (SimplifiedPFNN, dict(in_dim=3, out_dim=2, hidden=4, activation="elu", init="he", **sizes)),
        "call": (model, dict(x=np.zeros((2, 10), np.float32), phase=np.zeros(2), out=np.zeros((2, 5), np.float32))),
        "compiled": (model.compile(), dict(x=np.zeros((2, 10), np.float32), phase=np.zeros(2), out=None)),
        "compile": (model.compile, dict(weights="float16", crowd=(4, 2))),
        "load_state_dict": (model.load_state_dict, dict(state=model.state_dict())),
        "save": (model.save, dict(path="a")),
        "load": (SimplifiedPFNN.load, dict(path="a")),
        "load_pfnn_folder": (pfnnc.load_pfnn_folder, dict(path=".")),
        "export_onnx": (export_onnx, dict(model=model, path="b", parity_rows=1)),
        "Trainer": (lambda **o: Trainer(network(), **o).fit(data, epochs=1), options),
        "fit": (
            lambda **o: Trainer(network(), batch_size=4).fit(**o),
            dict(train=data, validation=data, checkpoint="c", callback=None, progress=False, patience=1, best="d", epochs=1),
        ),
        "fit arrays": (lambda X, Y, P: Trainer(network()).fit((X, Y, P), epochs=1), dict(zip("XYP", data, strict=True))),
        "Trainer.load": (Trainer.load, dict(path="c")),
        "is_checkpoint": (is_checkpoint, dict(path="c")),
        "synthesize": (pfnnc.synthesize, dict(**run, n_frames=3, dt=0.03, origin=(0, 0, 0), yaw=0.1, path=None)),
        "Character": (lambda **o: Character(**o).step(0.03), dict(**run, origin=(0, 0, 0), yaw=0.1, path=None, fps=30.0)),
        "step": (character.step, dict(dt=0.03, out=np.zeros(small.dim, np.float32))),
        "restore": (character.restore, dict(state=character.state())),
        "Drift": (Drift, dict(expected=(0, 0, 1.0), window=3, yaw_rate=0.1, by_phase=False)),
        "MotionModel.synthesize": (walker.synthesize, dict(start=clip, n_frames=2, dt=None, phase=0.2, drift=None, path=None)),
        "MotionModel.character": (walker.character, dict(start=clip, phase=None, drift=None, path=None)),
        "MotionModel.pose": (walker.pose, dict(features=walker.character(clip).step(0.03), position=(0, 0, 0), yaw=0.0)),
        "MotionModel.load": (MotionModel.load, dict(path="a")),
        "Controller": (
            lambda **o: Controller(walker.character(clip), **o).step(0.03),
            dict(skeleton=None, fps=None, velocity_halflife=0.2, facing_halflife=0.1, trust=0.1, leash=1.0, max_speed=5.0,
                 lock_feet=False, lock_radius=0.1, lock_halflife=0.1),
        ),
        "Controller.step": (controller.step, dict(dt=0.03, velocity=(0, 1.0), facing=0.3, camera=0.2)),
        "Controller.restore": (controller.restore, dict(state=controller.state())),
        "Trajectory": (Trajectory, dict(times=(0.1, 0.2))),
        "FeatureSpec": (
            lambda **o: FeatureSpec(**o).encode(clip),
            dict(joints=24, representation="quat", frame="heading", height=True, points=(), contacts=False, control=None),
        ),
        "decode": (spec.decode, dict(features=rows, origin=(0, 0, 0), yaw=0.0, skeleton=clip.skeleton, fps=30.0)),
        "transform": (lambda x: normalizer.transform(x), dict(x=rows)),
        "WindowDataset": (
            lambda **o: WindowDataset(**o).arrays(),
            dict(clips=[clip], spec=spec, phases=[made.phase], input_len=3, output_len=2, stride=2, normalizer=None),
        ),
        "Skeleton": (Skeleton, dict(names=["a", "b"], parents=[-1, 0], offsets=np.zeros((2, 3)), channels=None, end_sites=())),
        "Clip": (
            Clip, dict(skeleton=Skeleton(["a"], [-1], [[0, 0, 0]]), root_positions=np.zeros((3, 3)),
                       rotations=np.tile([1.0, 0, 0, 0], (3, 1, 1)), fps=30.0, name="x", translations=None),
        ),
        "RootTrack": (RootTrack, dict(times=[0, 0.5, 1], positions=[0, 1, 2.0], rotations=None, max_cycles=100)),
        "delta": (track.delta, dict(t0=0.1, t1=2.0)),
        "LoopClock": (LoopClock, dict(duration=1.0, rate=1.0, tick_rate=None)),
        "advance": (clock.advance, dict(dt=0.1)),
        "clock.restore": (clock.restore, dict(state=clock.state())),
        "label_phase": (pfnnc.label_phase, dict(clip=clip, method="contacts", feet=None)),
        "foot_skate": (
            pfnnc.foot_skate,
            dict(ankles=np.zeros((9, 2, 3)), contacts=np.ones((9, 2), bool), fps=30.0, threshold=0.24, trim=1),
        ),
        "make_gait_clip": (make_gait_clip, dict(kind="walk", seconds=1.0, fps=30.0, seed=0, speed=1.0)),
    }  # fmt: skip


def test_odd_values_in_the_place_of_every_argument(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for name, (function, good) in calls().items():
        for argument in good:
            for value in ODD:
                if argument in LARGE and isinstance(value, int) and value > 100:
                    continue
                try:
                    function(**{**good, argument: value})
                except ERRORS as error:
                    if not str(error).strip():
                        wrong.append(f"{name}({argument}={value!r:.40}): {type(error).__name__} without a message")
                except Exception as error:
                    wrong.append(f"{name}({argument}={value!r:.40}): {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
