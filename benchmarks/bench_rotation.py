"""Accuracy and speed of the rotations and of forward kinematics.

    python benchmarks/bench_rotation.py [--accuracy | --speed] [--seconds 3]

Accuracy is measured against 50 digits on hard points (tests/reference_rotation.py), in units in the last place of
max(1, |exact|). Speed: candidates take turns in one process and one thread; what counts is the minimum of the
process's CPU time. SciPy and a C compiler (for the loop over libm) are left out where they are not there.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import pfnnc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def accuracy():
    import reference_rotation as exact

    quats, vectors = exact.hard_quats(), exact.hard_vectors()
    random = np.random.default_rng(2)
    cases = {
        name: [(q,) for q in quats]
        for name in "quat_to_exp_map quat_log quat_normalize quat_yaw quat_to_matrix quat_to_6d".split()
    }
    cases |= {name: [(r,) for r in vectors] for name in "exp_map_to_quat quat_exp exp_map_wrap".split()}
    cases["quat_mul"] = [
        (q, p)
        for q, p in zip(quats, random.permutation(quats), strict=True)
        if -100 < np.log10(abs(q).max()) + np.log10(abs(p).max()) < 100
    ]
    cases["quat_rotate"] = [(q, v) for q, v in zip(quats, random.standard_normal((len(quats), 3)) * 100, strict=True)]
    cases["quat_slerp"] = [
        (q, p, t) for q, p, t in zip(quats, random.permutation(quats), random.random(len(quats)), strict=True)
    ]
    cases["quat_slerp"] += [(q, q + random.standard_normal(4) * 1e-9, 0.3) for q in quats[:60]]
    columns = random.standard_normal((100, 6))
    columns[50:, 3:] = columns[50:, :3] + columns[50:, 3:] * 10.0 ** -np.linspace(0, 10, 50)[:, None]
    cases["quat_from_6d"] = [(d,) for d in columns]
    print(f"{'worst error in ulp of max(1, |exact|)':40} {'points':>7} {'float64':>8} {'float32':>8}")
    for name, points in cases.items():
        function, reference = getattr(pfnnc, name), getattr(exact, name)
        double = max(exact.ulps(function(*p), reference(*p)) for p in points)
        with np.errstate(all="ignore"):
            single = [[np.float32(x) for x in p] for p in points]
        single = [p for p in single if all(np.isfinite(x).all() for x in p) and all(np.any(x) for x in p[:1])]
        if name in ("quat_slerp", "quat_from_6d"):
            single = [p for p in single if all(np.any(x) for x in p[:2])][:60]
        float32 = max(exact.ulps(function(*p), reference(*p), np.float32) for p in single)
        print(f"{name:40} {len(points):7} {double:8.2f} {float32:8.2f}")
    for order in pfnnc.rotation.ORDERS:
        worst = 0.0
        for angles in random.uniform(-7, 7, (40, 3)):
            worst = max(worst, exact.ulps(pfnnc.quat_from_euler(angles, order), exact.quat_from_euler(angles, order)))
        print(f"quat_from_euler {order:24} {40:7} {worst:8.2f}")
        worst = max(exact.ulps(pfnnc.quat_to_euler(q, order), exact.quat_to_euler(q, order)) for q in exact.near_lock(order))
        print(f"quat_to_euler {order:26} {len(exact.near_lock(order)):7} {worst:8.2f}")


# ---- speed --------------------------------------------------------------------------------------


def numpy_log(q):
    """The article's, with the half angle."""
    q = np.where(q[:, :1] < 0, -q, q)
    length = np.linalg.norm(q[:, 1:], axis=1, keepdims=True)
    angle = np.arctan2(length, q[:, :1])
    return np.where(length < 1e-8, 0, q[:, 1:] / np.maximum(length, 1e-8) * angle)


def numpy_exp(r):
    angle = np.linalg.norm(r, axis=1, keepdims=True)
    scale = np.where(angle < 1e-8, 0.5, np.sin(angle / 2) / np.maximum(angle, 1e-8))
    return np.concatenate([np.cos(angle / 2), r * scale], 1)


LIBM = """
#include <math.h>
void to_exp_map(double *r, const double *q, long n) {
    for (long i = 0; i < n; i++) {
        double w = q[4*i], x = q[4*i+1], y = q[4*i+2], z = q[4*i+3], s = sqrt(x*x + y*y + z*z);
        double f = s < 1e-12 ? 2 : 2 * atan2(s, fabs(w)) / s;
        f = w < 0 ? -f : f;
        r[3*i] = x*f; r[3*i+1] = y*f; r[3*i+2] = z*f;
    }
}
void to_quat(double *q, const double *r, long n) {
    for (long i = 0; i < n; i++) {
        double x = r[3*i], y = r[3*i+1], z = r[3*i+2], a = sqrt(x*x + y*y + z*z);
        double f = a < 1e-12 ? 0.5 : sin(a / 2) / a;
        q[4*i] = cos(a / 2); q[4*i+1] = x*f; q[4*i+2] = y*f; q[4*i+3] = z*f;
    }
}
"""


def libm_loops():
    """The same work as a plain loop in C, or None without a compiler."""
    folder = tempfile.mkdtemp()
    source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
    source.write_text(LIBM)
    try:
        subprocess.run(["cc", "-O3", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    loops = ctypes.CDLL(str(library))

    def call(function, width):
        def run(values):
            out = np.empty((len(values), width))
            function(ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(values.ctypes.data), ctypes.c_long(len(values)))
            return out

        return run

    return call(loops.to_exp_map, 3), call(loops.to_quat, 4)


def keep_freed_memory():
    """Let glibc keep large freed blocks, as it does by itself in a long run: page faults are nobody's arithmetic."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # not glibc
        return
    mallopt(-3, 32 << 20), mallopt(-1, 1 << 30)  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def race(title, candidates, seconds):
    """Minimum CPU time of each, in turns, and how often the first is as fast."""
    best = dict.fromkeys(candidates, np.inf)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, function in candidates.items():
            for _ in range(2):
                start = time.process_time()
                function()
                best[name] = min(best[name], time.process_time() - start)
    own = best["pfnnc"]
    print(f"\n{title}")
    for name, value in best.items():
        print(f"  {name:28} {value * 1e3:9.3f} ms   {value / own:6.1f}x")


def numpy_kinematics(clip):
    """A NumPy loop over joints, all frames at once."""

    def multiply(a, b):
        aw, ax, ay, az = np.moveaxis(a, -1, 0)
        bw, bx, by, bz = np.moveaxis(b, -1, 0)
        return np.stack(
            [
                aw * bw - ax * bx - ay * by - az * bz,
                aw * bx + ax * bw + ay * bz - az * by,
                aw * by - ax * bz + ay * bw + az * bx,
                aw * bz + ax * by - ay * bx + az * bw,
            ],
            -1,
        )

    def turn(q, v):
        t = 2 * np.cross(q[..., 1:], v)
        return v + q[..., :1] * t + np.cross(q[..., 1:], t)

    places, world = [clip.root_positions], [clip.rotations[:, 0]]
    for j in range(1, len(clip.skeleton)):
        parent = clip.skeleton.parents[j]
        places.append(places[parent] + turn(world[parent], clip.skeleton.offsets[j]))
        world.append(multiply(world[parent], clip.rotations[:, j]))
    return np.stack(places, 1)


def speed(seconds):
    keep_freed_memory()
    q = np.random.default_rng(0).standard_normal((1_000_000, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True) * np.copysign(1, q[:, :1])
    r = pfnnc.quat_to_exp_map(q)
    log = {"pfnnc": lambda: pfnnc.quat_to_exp_map(q), "numpy, the article's": lambda: numpy_log(q)}
    exp = {"pfnnc": lambda: pfnnc.exp_map_to_quat(r), "numpy, the article's": lambda: numpy_exp(r)}
    if loops := libm_loops():
        log["C, a loop over libm"] = lambda: loops[0](q)
        exp["C, a loop over libm"] = lambda: loops[1](r)
    try:
        from scipy.spatial.transform import Rotation

        turned = np.ascontiguousarray(np.roll(q, -1, axis=1))
        log["scipy as_rotvec"] = lambda: Rotation.from_quat(turned).as_rotvec()
        exp["scipy from_rotvec"] = lambda: Rotation.from_rotvec(r).as_quat()
        both = {"scipy, there and back": lambda: Rotation.from_rotvec(Rotation.from_quat(turned).as_rotvec()).as_quat()}
    except ImportError:
        both = {}
    race("a million quaternions to exponential maps, float64", log, seconds)
    race("a million exponential maps to quaternions, float64", exp, seconds)
    there_and_back = {
        "pfnnc": lambda: pfnnc.exp_map_to_quat(pfnnc.quat_to_exp_map(q)),
        "numpy, the article's": lambda: numpy_exp(numpy_log(q)),
    }
    if loops:
        there_and_back["C, a loop over libm"] = lambda: loops[1](loops[0](q))
    race("there and back", there_and_back | both, seconds)

    joints = 24
    parents = np.array([-1, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 12, 11, 14, 15, 16, 17, 11, 19, 20, 21, 22])
    skeleton = pfnnc.Skeleton(
        [f"joint{j}" for j in range(joints)], parents, np.random.default_rng(1).standard_normal((joints, 3))
    )
    for frames in (1000, 100):
        rotations = q[: frames * joints].reshape(frames, joints, 4)
        clip = pfnnc.Clip(skeleton, np.zeros((frames, 3)), rotations, 30.0)
        assert np.allclose(clip.positions(), numpy_kinematics(clip))
        race(
            f"forward kinematics, {frames} frames of {joints} joints",
            {"pfnnc": clip.positions, "numpy, a loop over joints": lambda clip=clip: numpy_kinematics(clip)},
            seconds,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", action="store_true", help="accuracy alone")
    parser.add_argument("--speed", action="store_true", help="speed alone")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each race")
    options = parser.parse_args()
    print(f"instruction set: {os.environ.get('PFNNC_ISA', 'the fastest that this processor has')}")
    if not options.speed:
        accuracy()
    if not options.accuracy:
        speed(options.seconds)
