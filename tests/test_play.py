"""The page of `pfnnc play`: it stands alone, goes where keys send it, and its steps are those of Python and C."""

import ctypes
import json
import re
import subprocess

import numpy as np
import pytest
from conftest import ROOT, browse, needs
from numpy.testing import assert_allclose
from test_viewer import Page

import pfnnc
from pfnnc import Clip, Controller
from pfnnc.cli import main
from pfnnc.viewer import write_play_page
from pfnnc.viewer.play import demo_model, legs_of, page_data, speeds_of, start_numbers, start_of

LOG = [  # dt, wanted x and z in m/s, facing or None
    *[(1 / 60, 0.0, 1.3, None)] * 60, *[(1 / 144, 1.2, 0.0, None)] * 70, *[(0.05, -0.5, 1.0, 0.3)] * 10,
    *[(1 / 30, 0.0, 0.0, None)] * 15,
]  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return demo_model()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("play") / "play.html"
    write_play_page(path)
    return path


def steered(model, log, lock=False):
    """(steps, numbers): root, yaw, phase, then world positions of the joints, of each step in Python."""
    clip, phase = start_of(model)
    controller = Controller(model.character(clip, phase=phase), lock_feet=lock)
    rows = []
    for dt, x, z, facing in log:
        pose = controller.step(dt, (x, z), facing)
        points = Clip(model.skeleton, [pose.root_position], [pose.rotations], 30.0).positions()
        rows.append([*pose.root_position, pose.yaw, pose.phase, *points.ravel()])
    return np.array(rows)


def test_nothing_is_loaded_from_anywhere(page):
    text = page.read_text("utf-8")
    parsed = Page(text)
    assert parsed.open == []
    for tag, attributes in parsed.tags:
        assert "src" not in attributes and attributes.get("href", "data:,").startswith("data:")
        assert tag not in ("iframe", "object", "embed", "base", "img")
    code = text.replace(parsed.scripts[0], "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bfetch\(|XMLHttpRequest|WebSocket|import\(", code)
    policy = next(a["content"] for tag, a in parsed.tags if tag == "meta" and a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert len(text) < 1_600_000


def test_the_demo_model_is_small_and_says_what_it_can(model):
    assert len(model.to_bytes()) < 700_000 and len(model.skeleton) == 24
    walk, jog = speeds_of(model)
    assert 0.8 < walk < 1.5 < jog < 3.5
    data = page_data(model, "title")
    assert len(data["legs"]) == 2 and len(data["start"]) * 3 / 4 >= 8 * start_numbers(model, *start_of(model)).size


def test_the_demo_character_obeys(model):
    go = steered(model, [(1 / 30, 0.0, 1.3, None)] * 300)
    assert abs(np.hypot(*(go[-1, [0, 2]] - go[149, [0, 2]])) / 5 - 1.3) < 0.1 and abs(go[-1, 0] - go[149, 0]) < 0.3
    stop = steered(model, [(1 / 30, 0.0, 1.3, None)] * 60 + [(1 / 30, 0.0, 0.0, None)] * 90)
    assert np.hypot(*(stop[-1, [0, 2]] - stop[-31, [0, 2]])) < 0.05
    turn = steered(model, [(1 / 30, 0.0, 1.3, None)] * 60 + [(1 / 30, 1.3, 0.0, None)] * 60)
    assert abs(turn[-1, 3] - np.pi / 2) < 0.2 and turn[-1, 0] - turn[60, 0] > 1.2


def test_wrong_arguments(tmp_path, model):
    with pytest.raises(TypeError, match="model must be a MotionModel, got str"):
        write_play_page(tmp_path / "a.html", "model")
    with pytest.raises(TypeError, match="heading must be a string"):
        write_play_page(tmp_path / "a.html", model, heading=3)
    made = [pfnnc.make_gait_clip("walk", seconds=3.0)]
    plain = pfnnc.MotionModel.train(
        [m.clip for m in made], "article", phases=[m.phase for m in made], epochs=0, hidden=4, progress=False
    )
    with pytest.raises(ValueError, match="no trajectory to be steered by"):
        write_play_page(tmp_path / "a.html", plain)
    with pytest.raises(OSError):
        write_play_page(tmp_path / "none" / "a.html", model)
    assert list(tmp_path.iterdir()) == []


def test_command(capsys, tmp_path, model):
    page = tmp_path / "new" / "play.html"
    assert main(["play", "-o", str(page)]) == 0 and f"wrote {page}" in capsys.readouterr().out
    assert main(["play", "-o", str(page)]) == 1 and "exists already" in capsys.readouterr().err
    file = tmp_path / "model.pfnnc"
    model.save(file)
    assert main(["play", str(file), "-o", str(page), "--force"]) == 0
    assert "pfnnc play: model" in page.read_text("utf-8")
    assert main(["play", str(tmp_path), "-o", str(file), "--force"]) == 1 and "that is an input" in capsys.readouterr().err
    assert main(["play", str(tmp_path / "none")]) == 1 and "No such file" in capsys.readouterr().err
    assert model.to_bytes() == file.read_bytes()


# ---- the same steps elsewhere

DRIVER = r"""
const fs = require("fs");
const Player = new Function(fs.readFileSync(process.argv[2], "utf8") + "\nreturn Player;")();
const { data, log, lock } = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64")).buffer;
(async () => {
  const begin = new Float64Array(bytes(data.start));
  const player = await Player.open(bytes(data.wasm), bytes(data.model), begin, data.legs.flat());
  player.lock(lock);
  const rows = [], begun = performance.now();
  for (const [dt, x, z, facing] of log) {
    player.step(dt, x, z, facing === null ? NaN : facing);
    const s = player.state;
    rows.push([...s.root, s.yaw, s.phase, ...player.points]);
  }
  const frames = player.state.frames, spent = performance.now() - begun;
  const troubles = [];
  for (const wrong of [[0, 0, 0], [1, NaN, 0], [11, 0, 0]]) {
    try { player.step(...wrong); } catch (e) { troubles.push(e.message); }
  }
  const cut = new Uint8Array(bytes(data.model)).slice(0, 5000).buffer;
  await Player.open(bytes(data.wasm), cut, [0], []).catch((e) => troubles.push(e.message));
  console.log(JSON.stringify({ rows, ms: spent / frames, troubles }));
})();
"""


@pytest.mark.parametrize("lock", [False, True])
def test_webassembly_steps_as_python_does(tmp_path, model, lock):
    needs("node")
    (tmp_path / "driver.js").write_text(DRIVER)
    (tmp_path / "log.json").write_text(json.dumps({"data": page_data(model, ""), "log": LOG, "lock": lock}))
    player = ROOT / "pfnnc" / "viewer" / "player.js"
    ran = subprocess.run(
        ["node", tmp_path / "driver.js", player, tmp_path / "log.json"], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    shown = json.loads(ran.stdout)
    rows, expected = np.array(shown["rows"]), steered(model, LOG, lock)
    print(f"WebAssembly: {shown['ms']:.3f} ms a step, off by {abs(rows[:, : expected.shape[1]] - expected).max():.1e}")
    assert_allclose(rows[:, : expected.shape[1]], expected, rtol=0, atol=1e-3)
    assert all("is none" in text for text in shown["troubles"][:3]) and len(shown["troubles"]) == 4
    assert "the model is no motion-model file" in shown["troubles"][3]


def test_c_steps_as_python_does_to_the_bit(tmp_path, model, library):
    player, folder = tmp_path / "player.so", ROOT / "csrc"
    subprocess.run(
        ["cc", "-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wshadow", "-Werror",
         f"-I{folder / 'core'}", folder / "wasm" / "player.c", library / "libpfnnc.a", "-lm", "-pthread",
         "-o", player],
        check=True,
    )  # fmt: skip
    core = ctypes.CDLL(str(player))
    for name in ("player_points", "player_shown"):
        getattr(core, name).restype = ctypes.POINTER(ctypes.c_double)
    core.player_error.restype = ctypes.c_char_p
    core.player_step.argtypes = [ctypes.c_double] * 4
    size = ctypes.c_size_t
    data, begin, legs = model.to_bytes(), start_numbers(model, *start_of(model)), np.array(legs_of(model))
    pointers = (
        ctypes.c_void_p(begin.ctypes.data),
        size(begin.size),
        ctypes.c_void_p(legs.ctypes.data),
        size(len(legs)),
    )
    assert core.player_open(data, size(len(data)), *pointers), core.player_error()
    expected, rows = steered(model, LOG), []
    for dt, x, z, facing in LOG:
        assert core.player_step(dt, x, z, np.nan if facing is None else facing), core.player_error()
        rows.append([*core.player_shown()[:5], *core.player_points()[: 3 * len(model.skeleton)]])
    rows = np.array(rows)
    assert np.array_equal(rows[:, :5], expected[:, :5])
    assert_allclose(rows, expected, rtol=0, atol=1e-14)  # NumPy's own cosine of the yaw is in these


# ---- a browser

# A browser's virtual time does not wait for a core that is compiled beside it: here it is compiled on the spot.
AT_ONCE = """<script>
WebAssembly.instantiate = async (bytes, imports) => {
  const module = new WebAssembly.Module(bytes);
  return { module, instance: new WebAssembly.Instance(module, imports) };
};
</script>"""

KEYS = """<script>
function key(code, down) {
  document.dispatchEvent(new KeyboardEvent(down ? "keydown" : "keyup", { code, bubbles: true }));
}
function go(seconds) { for (let t = 0; t < seconds - 1e-9; t += 1 / 60) advance(1 / 60); }
ready.then(() => {
  const places = [];
  const note = () => { const s = player.state; places.push([...s.root, s.velocity[0], s.velocity[2]]); };
  note(); go(1); note();
  key("KeyW", true); go(3); note();
  key("ShiftLeft", true); go(2); note();
  key("ShiftLeft", false); key("KeyW", false); key("ArrowRight", true); go(3); note();
  key("ArrowRight", false); go(3); note();
  key("KeyW", true); key("KeyD", true); go(2); draw();
  const begun = performance.now(), before = player.state.frames;
  for (let i = 0; i < 300; i++) player.step(1 / 30, 0, 1);
  const ms = (performance.now() - begun) / (player.state.frames - before);
  document.title = JSON.stringify({ places, ms, trouble: byId("trouble").hidden ? "" : byId("trouble").textContent });
});
</script></body>"""


def test_keys_in_a_browser(tmp_path, page):
    held = tmp_path / "held.html"
    held.write_text(page.read_text("utf-8").replace("<body>", f"<body>{AT_ONCE}").replace("</body>", KEYS), "utf-8")
    kept = ROOT / "build"
    kept.mkdir(exist_ok=True)
    found = re.search(r"<title>(\{.*?\})</title>", written := browse(tmp_path, held, "--dump-dom"), re.S)
    assert found, written[:500]
    shown = json.loads(found.group(1))
    assert shown["trouble"] == ""
    begun, stood, walked, jogged, turned, stopped = np.array(shown["places"])
    assert np.hypot(*(stood - begun)[[0, 2]]) < 0.1  # nobody touches it
    assert 3.0 < walked[2] - stood[2] < 4.2 and abs(walked[0] - stood[0]) < 0.4  # the camera looks along +z
    assert 3.0 < jogged[2] - walked[2] < 6.5
    assert turned[0] - jogged[0] < -2.5  # the right hand of someone who looks along +z is at -x
    assert np.hypot(*stopped[3:]) < 0.1
    print(f"in the browser: {shown['ms']:.3f} ms a step")
    browse(tmp_path, held, "--window-size=1200,760", f"--screenshot={kept / 'play.png'}")
    assert (kept / "play.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
