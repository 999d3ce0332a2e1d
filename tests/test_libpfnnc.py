"""libpfnnc alone: it builds, C++ can read its header, and C gets the bits that Python gets."""

import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, needs
from reference_network import forward as forward_float64
from test_network import KINDS, data, make

import pfnnc
from pfnnc import _store
from pfnnc.synthesis import Rollout, begin

FORWARD = r"""
#include "pfnnc.h"
#include <stdio.h>
#include <stdlib.h>

/* forward FILE ROWS: x and phase as text on standard input, y as hexadecimal numbers */
int main(int count, char **arguments)
{
    pfnn_store *store;
    pfnn_net net;
    pfnn_error error = {0};
    if (count != 3 || pfnn_store_open(&store, arguments[1], "network", &error) || pfnn_net_open(&net, store, "", &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    int64_t rows = atol(arguments[2]), in = net.config.size[0], out = net.config.size[3];
    float *x = calloc((size_t)(rows * in), sizeof *x), *y = calloc((size_t)(rows * out), sizeof *y);
    double *phase = calloc((size_t)rows, sizeof *phase);
    for (int64_t i = 0; i < rows * in; i++)
        if (scanf("%a", &x[i]) != 1) return 2;
    for (int64_t i = 0; i < rows; i++)
        if (scanf("%la", &phase[i]) != 1) return 2;
    void *workspace = malloc(pfnn_net_workspace(&net, PFNN_FLOAT32, rows, 1));
    pfnn_net_batch batch = {rows, PFNN_FLOAT32, x, in * 4, 4, phase, y, out * 4, 4};
    if (pfnn_net_forward(&net, &batch, workspace, 1, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (int64_t i = 0; i < rows * out; i++)
        printf("%a\n", (double)y[i]);
    free(x), free(y), free(phase), free(workspace);
    pfnn_store_close(store);
    return 0;
}
"""


def build(source: Path, program: Path, library: Path) -> Path:
    command = [
        "cc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT / 'csrc/core'}",
        str(source),
        str(library / "libpfnnc.a"),
    ]
    subprocess.run([*command, "-lm", "-lpthread", "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def forward(library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("forward")
    (folder / "forward.c").write_text(FORWARD)
    return build(folder / "forward.c", folder / "forward", library)


def run(program, *arguments, text=""):
    return subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True)


def test_the_header_is_c_and_cpp(tmp_path):
    for compiler, language in (("cc", "c"), ("c++", "c++")):
        needs(compiler)
        command = [compiler, "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(ROOT / "csrc/core/pfnnc.h")]
        subprocess.run(command, check=True)
    (tmp_path / "all.cpp").write_text('#include "pfnnc.h"\nint main() { return pfnn_isa_name()[0] == 0; }\n')
    subprocess.run(["c++", "-fsyntax-only", f"-I{ROOT / 'csrc/core'}", str(tmp_path / "all.cpp")], check=True)


def test_the_shared_library_loads(library):
    import ctypes

    core = ctypes.CDLL(str(library / "libpfnnc.so"))
    core.pfnn_isa_name.restype = ctypes.c_char_p
    assert core.pfnn_isa_name().decode() == pfnnc._core.isa()


@pytest.mark.parametrize("kernel, activation", KINDS)
def test_c_computes_the_same_bits(tmp_path, forward, kernel, activation):
    model = make(kernel=kernel, activation=activation)
    model.save(tmp_path / "a.pfnn")
    x, phase = data(9)
    text = " ".join(float(v).hex() for v in [*x.ravel(), *phase])
    result = run(forward, tmp_path / "a.pfnn", 9, text=text)
    assert result.returncode == 0, result.stderr
    got = np.array([float.fromhex(line) for line in result.stdout.split()], np.float32)
    assert np.array_equal(got.reshape(9, -1), model(x, phase))


@pytest.fixture(scope="module")
def forward_arm64(tmp_path_factory):
    """The same program for AArch64: the core's C and NEON paths, compiled for another processor."""
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    folder = tmp_path_factory.mktemp("arm64")
    (folder / "forward.c").write_text(FORWARD)
    options = "-std=c11 -O1 -ffp-contract=off -Wall -Wextra -Werror -static -pthread".split()
    sources = [folder / "forward.c", *sorted((ROOT / "csrc/core").glob("*.c"))]
    command = ["aarch64-linux-gnu-gcc", *options, f"-I{ROOT / 'csrc/core'}", *sources, "-lm", "-o", folder / "forward"]
    subprocess.run(command, check=True)
    return folder / "forward"


@pytest.mark.parametrize("isa", ["neon", "portable"])
def test_arm64_is_within_the_same_tolerance(tmp_path, forward_arm64, isa):
    for kernel, activation in KINDS:
        model = make(kernel=kernel, activation=activation)
        model.save(tmp_path / "a.pfnn")
        x, phase = data(9)
        text = " ".join(float(v).hex() for v in [*x.ravel(), *phase])
        command = ["qemu-aarch64", "-E", f"PFNNC_ISA={isa}", forward_arm64, tmp_path / "a.pfnn", "9"]
        result = subprocess.run(command, input=text, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        got = np.array([float.fromhex(line) for line in result.stdout.split()]).reshape(9, -1)
        right = forward_float64(model, x, phase)
        assert np.abs(got - right).max() <= 1e-6 * np.abs(right).max()


def test_c_refuses_what_is_no_network(tmp_path, forward):
    model, path = make(), tmp_path / "a.pfnn"
    model.save(path)
    whole, arrays = path.read_bytes(), model._to_arrays()
    config = arrays["config"]

    def refused(message):
        result = run(forward, path, 0)
        assert result.returncode == 1 and message in result.stderr, (result.returncode, result.stderr)

    for damage in [whole[:n] for n in (0, 63, 64, 500, len(whole) - 1)] + [whole + b"x", b"y" * 500]:
        path.write_bytes(damage)
        refused("a.pfnn is no network file")
    for i in np.random.default_rng(0).integers(0, len(whole), 20):
        flipped = bytearray(whole)
        flipped[i] ^= 1
        path.write_bytes(flipped)
        refused("a.pfnn is no network file")
    changes = [
        ({"config": config + 1}, "does not have the shape of config"),
        ({"config": np.full(7, 2**40)}, "config[0]=1099511627776 is out of range"),
        ({"config": config * 0}, "size[0] must be in"),
        ({"config": config[:6]}, "config must have 7 numbers"),
        ({"config": config.astype(float)}, "config must be of type <i8"),
        ({"beta": np.array([np.inf])}, "beta must be finite"),
        ({"fc2.weights": arrays["fc2.weights"].astype(float)}, "fc2.weights must be of type <f4"),
        ({"fc3.bias": arrays["fc3.bias"] * np.nan}, "fc3.bias is not finite"),
    ]
    for change, message in changes:
        _store.save(path, "network", {**arrays, **change})
        refused(message)
    _store.save(path, "checkpoint", arrays)
    refused("it holds a checkpoint")
    path.unlink()
    refused("cannot open")


@pytest.mark.parametrize("preset", ["controller", "article"])
def test_a_character_in_c_walks_as_in_python(tmp_path, library, preset):
    walk = pfnnc.make_gait_clip("walk", seconds=6, speed=1.2)
    quick = {"hidden": 16, "epochs": 2, "rollout": 2, "output_len": 3, "progress": False}
    model = pfnnc.MotionModel.train([walk.clip], preset, phases=[walk.phase], **quick)
    model.save(tmp_path / "walk.pfnn")
    program = build(ROOT / "csrc/examples/character.c", tmp_path / "character", library)
    result = run(program, tmp_path / "walk.pfnn", 60)
    assert result.returncode == 0, result.stderr
    got = [tuple(map(float.fromhex, line.split())) for line in result.stdout.splitlines()]

    rollout, dt = Rollout(), 1 / model.fps
    window = np.repeat(model.frames[:1], model.input_len, 0)
    speed = math.hypot(window[0, 0], window[0, 2])
    times = np.array(model.spec.control.times if model.spec.control else ())
    history = round(-times.min() * model.fps) if len(times) and times.min() < 0 else 0
    past = np.array([[0, -(i + 1) * speed / model.fps, 0] for i in range(history)]).reshape(1, -1, 3)
    begin(
        rollout, model.model, model.spec, model.normalizer, window[None], np.zeros(1), np.array([model.avg_stride]),
        np.zeros((1, 3)), np.zeros(1), None, dt, past=past if history else None, follow_height=model.spec.height,
        limits=tuple(np.ascontiguousarray(model.limits)),
    )  # fmt: skip
    for place in got:
        position, yaw, phase = rollout._root(0)
        if len(times):
            x, z = (position[0] + math.sin(yaw) * speed * times, position[2] + math.cos(yaw) * speed * times)
            rollout._want(0, np.stack([x, z, np.full(len(times), yaw)], 1))
        rollout.step(dt)
        position, yaw, phase = rollout._root(0)
        assert place == (*position, yaw, phase)
    assert len(got) == 60
    assert run(program, tmp_path / "none.pfnn").returncode == 1
    arrays, settings = _store.load(tmp_path / "walk.pfnn", "motion-model")
    for wrong in ([np.nan, 2, 1, 1], [30, 1e300, 1, 1], [30, 0, 1, 1], [30, 2, -1, 1]):
        _store.save(tmp_path / "wrong.pfnn", "motion-model", {**arrays, "gait": np.array(wrong, float)}, settings)
        result = run(program, tmp_path / "wrong.pfnn")
        assert result.returncode == 1 and "gait is" in result.stderr
    model.model.save(tmp_path / "net.pfnn")
    assert "it holds a network" in run(program, tmp_path / "net.pfnn").stderr


CHECK = ["error", "forward", "kernel", "kernel_neon", "kernel_portable", "cpu", "network", "shares", "thread", "crowd"]


@pytest.mark.slow
def test_the_forward_pass_on_aarch64(tmp_path):
    needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
    sources = [ROOT / "csrc/tests/check_network.c", *(ROOT / f"csrc/core/{name}.c" for name in CHECK)]
    command = ["aarch64-linux-gnu-gcc", "-static", "-std=c11", "-O2", "-ffp-contract=off", f"-I{ROOT / 'csrc/core'}", *sources]
    subprocess.run([*command, "-lm", "-lpthread", "-o", tmp_path / "check"], check=True)
    for isa in ("neon", "portable"):
        result = run("qemu-aarch64", "-E", f"PFNNC_ISA={isa}", tmp_path / "check")
        assert result.returncode == 0 and f"{isa}: 189 cases, 0 wrong" in result.stdout, result.stdout + result.stderr


def sanitized(source, folder):
    """A program over the core with sanitizers, or a skip where the compiler has none."""
    flags = "-std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Werror".split()
    sources = [source, *sorted((ROOT / "csrc/core").glob("*.c"))]
    command = ["cc", *flags, f"-I{ROOT / 'csrc/core'}", *sources, "-lm", "-lpthread", "-o", folder / "program"]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if built.returncode and "sanitize" in built.stderr:
        pytest.skip("needs a compiler with sanitizers")
    assert built.returncode == 0, built.stderr
    return folder / "program"


@pytest.mark.slow
def test_edges_of_the_c_interface_under_sanitizers(tmp_path):
    """Sizes of 0, below 0 and huge; and every byte of the tables of two kinds of file, with the checksum put right."""
    needs("cc")
    program, walk = sanitized(ROOT / "csrc/tests/check_edges.c", tmp_path), pfnnc.make_gait_clip("walk", seconds=4)
    make(3, 2, 4, 4).save(tmp_path / "network")
    quick = {"hidden": 4, "epochs": 0, "progress": False}
    pfnnc.MotionModel.train([walk.clip], phases=[walk.phase], **quick).save(tmp_path / "model")
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    for arguments in (["network", "network", ""], ["model", "motion-model", "model."]):
        command = [program, tmp_path / arguments[0], *arguments[1:]]
        result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert result.returncode == 0 and " 0 wrong" in result.stdout, result.stdout + result.stderr
