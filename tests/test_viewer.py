"""The page stands alone, carries the motion, and runs in a real browser where one is installed."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import browse
from numpy.testing import assert_allclose

from pfnnc import Clip, Skeleton, evaluate, make_gait_clip
from pfnnc.viewer import write_gif, write_page, write_trials


@pytest.fixture(scope="module")
def walk():
    return make_gait_clip("walk", seconds=2.0)


class Page(HTMLParser):
    """Tags with their attributes, and the texts of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def page_of(path, clips, **options):
    write_page(path, clips, **options)
    page = Page(path.read_text("utf-8"))
    assert page.open == []
    return page, json.loads(page.scripts[0])["clips"]


def numbers(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype)


def test_nothing_is_loaded_from_anywhere(tmp_path, walk):
    page, _ = page_of(tmp_path / "a.html", [walk.clip, walk.clip], phases=[walk.phase, None])
    for tag, attributes in page.tags:
        assert "src" not in attributes and attributes.get("href", "data:,").startswith("data:")
        assert tag not in ("iframe", "object", "embed", "base", "img")
    text = (tmp_path / "a.html").read_text("utf-8").replace(page.scripts[0], "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bfetch\(|XMLHttpRequest|WebSocket|import\(", text)
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_the_page_carries_the_motion(tmp_path, walk):
    _, (one, two) = page_of(
        tmp_path / "a.html",
        [walk.clip, walk.clip.mirror()],
        titles=["left", "right"],
        phases=[walk.phase, None],
        contacts=[walk.contacts, None],
    )
    assert [one["title"], two["title"]] == ["left", "right"] and one["frames"] == 61 and one["fps"] == 30
    for item, clip in ((one, walk.clip), (two, walk.clip.mirror())):
        root = numbers(item["root"], "<f4").reshape(61, 1, 3)
        points = root + numbers(item["points"], "<i2").reshape(61, -1, 3) * item["step"]
        assert_allclose(points[:, :24], clip.positions(), atol=1e-4)
        assert item["count"] == 24 + len(clip.skeleton.end_sites) == len(item["bones"]) + 1
    assert_allclose(numbers(one["phase"], "<f4"), walk.phase, atol=1e-6)
    assert np.array_equal(numbers(one["contacts"], bool).reshape(61, 2), walk.contacts)
    assert two["phase"] is None and two["contacts"] is None
    assert 1.5 < one["size"] < 1.9 and one["floor"] == 0
    names = walk.clip.skeleton.names
    assert [[names[j] for j in foot][0] for foot in one["feet"]] == ["LeftFoot", "RightFoot"]


def test_titles_cannot_break_out(tmp_path, walk):
    title = "</script><script>alert(1)</script>&<b>"
    page, (one,) = page_of(tmp_path / "a.html", walk.clip, titles=[title], heading=title)
    assert one["title"] == title and len(page.scripts) == 2
    assert not any(tag == "b" for tag, _ in page.tags)


def test_idle_phases_are_nan(tmp_path):
    idle = make_gait_clip("idle", seconds=0.5)
    _, (one,) = page_of(tmp_path / "a.html", idle.clip, phases=[idle.phase], contacts=[idle.contacts])
    assert np.isnan(numbers(one["phase"], "<f4")).all()


def test_any_skeleton_will_do(tmp_path):
    point = Clip(Skeleton(["x"], [-1], [[0, 0, 0]]), np.zeros((1, 3)), np.tile([1.0, 0, 0, 0], (1, 1, 1)), 24, "one")
    _, (one,) = page_of(tmp_path / "a.html", [point])
    assert one["size"] == 1 and one["feet"] == []
    giant = Clip(
        Skeleton(["a", "b"], [-1, 0], [[0, 0, 0], [0, 900, 0]]),
        1e4 * np.ones((2, 3)),
        np.tile([1.0, 0, 0, 0], (2, 2, 1)),
        24,
    )
    _, (one,) = page_of(tmp_path / "a.html", [giant])
    root = numbers(one["root"], "<f4").reshape(2, 1, 3)
    assert_allclose((root + numbers(one["points"], "<i2").reshape(2, 2, 3) * one["step"])[0, 1], [1e4, 10900, 1e4], rtol=1e-5)


@pytest.mark.parametrize(
    "options, error, message",
    [
        (dict(clips=[]), ValueError, "clips must be one or two"),
        (dict(clips=3), TypeError, "clips must be a sequence of one or two clips, got int"),
        (dict(clips=["walk.bvh"]), TypeError, r"clips\[0\] must be a Clip"),
        (dict(titles=["a", "b"]), ValueError, "titles must have one entry a clip"),
        (dict(titles="a"), TypeError, "titles must be a sequence"),
        (dict(titles=[3]), TypeError, r"titles\[0\] must be a string"),
        (dict(phases=[np.zeros(3)]), ValueError, r"phases\[0\] must have shape"),
        (dict(phases=[np.full(61, 2.0)]), ValueError, r"phases\[0\]\[0\]=2.0 is not in"),
        (dict(contacts=[np.zeros((61, 3), bool)]), ValueError, r"contacts\[0\] must have shape \(61, 2\)"),
        (dict(contacts=[np.zeros((61, 2))]), TypeError, r"contacts\[0\] must be an array of bool"),
        (dict(heading=3), TypeError, "heading must be a string"),
        (dict(feet=[[3.5]]), TypeError, r"feet\[0\]\[0\] must be"),
        (dict(feet=[["Paw"]]), ValueError, "Paw"),
        (dict(feet=[[99]]), ValueError, r"feet\[0\]\[0\] must be in"),
        (dict(feet=[[[]]]), ValueError, r"feet\[0\]\[0\] names no joint"),
    ],
)
def test_bad_input_writes_nothing(tmp_path, walk, options, error, message):
    with pytest.raises(error, match=message):
        write_page(tmp_path / "a.html", **({"clips": walk.clip} | options))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path, walk):
    with pytest.raises(OSError):
        write_page(tmp_path / "no" / "a.html", walk.clip)


def test_trials_say_nothing_of_what_they_are(tmp_path, walk):
    write_trials(tmp_path / "t.html", [(walk.clip, walk.clip.mirror())] * 3, test="x", question="which?")
    page = Page((tmp_path / "t.html").read_text("utf-8"))
    data = json.loads(page.scripts[0])
    assert [[clip["title"] for clip in pair] for pair in data["trials"]] == [["A", "B"]] * 3
    assert "walk" not in page.scripts[0]
    for trials in ([], [(walk.clip,)], [(walk.clip, walk.clip[:0])]):
        with pytest.raises(ValueError, match="trials"):
            write_trials(tmp_path / "u.html", trials, test="x", question="which?")

    with pytest.raises(TypeError, match=r"trials\[0\]\[1\] must be a Clip"):
        write_trials(tmp_path / "u.html", [(walk.clip, 3)], test="x", question="which?")


def test_gif(tmp_path, walk):
    image = pytest.importorskip("PIL.Image")
    write_gif(tmp_path / "a.gif", [walk.clip, walk.clip.mirror()], fps=10, size=64)
    with image.open(tmp_path / "a.gif") as shown:
        assert shown.size == (128, 64) and shown.n_frames == 21 and shown.info["duration"] == 100
        pixels = np.asarray(shown.convert("RGB"), int)
    assert (pixels[:, :64, 2] > pixels[:, :64, 0] + 60).sum() > 50  # blue, left
    assert (pixels[:, 64:, 0] > pixels[:, 64:, 2] + 60).sum() > 50  # orange, right
    for titles in (None, ["", ""]):  # the names, or nothing
        write_gif(tmp_path / "c.gif", [walk.clip] * 2, titles=titles, fps=2)
        with image.open(tmp_path / "c.gif") as shown:
            head = np.asarray(shown.convert("L"))[:30, 360:420]
        assert (head < 100).any() == (titles is None)
    for options, error in (
        (dict(clips=[]), ValueError), (dict(clips=3), TypeError), (dict(clips=[3]), TypeError),
        (dict(titles=["a", "b"]), ValueError), (dict(titles=[3]), TypeError),
        (dict(fps=0), ValueError),
        (dict(clips=walk.clip[:0]), ValueError), (dict(size=10**9), ValueError), (dict(yaw=float("nan")), ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            write_gif(tmp_path / "b.gif", **({"clips": walk.clip} | options))
    assert not (tmp_path / "b.gif").exists()


@pytest.mark.slow
def test_it_runs_in_a_browser(tmp_path, walk):
    page = tmp_path / "a.html"
    write_page(page, [walk.clip, walk.clip], titles=["one", "two"], phases=[walk.phase] * 2, contacts=[walk.contacts] * 2)
    text = page.read_text("utf-8")
    probe = (
        "<script>window.onerror = (message) => { document.title = 'ERROR ' + message; };"
        "setTimeout(() => { document.title += ' ' + byId('clock').textContent; }, 300);</script>"
    )
    page.write_text(text.replace("<body>", "<body>" + probe), "utf-8")
    dump = browse(tmp_path, f"{page.as_uri()}#t=1.5", "--dump-dom")
    title = re.search("<title>(.*?)</title>", dump).group(1)
    assert title == "one and two 1.50 s of 2.00 s"
    assert "frame 46 of 61 at 30 fps" in dump
    shot = tmp_path / "a.png"
    browse(tmp_path, f"{page.as_uri()}#t=1.5", "--window-size=1000,700", f"--screenshot={shot}")
    image = pytest.importorskip("matplotlib.image").imread(shot)[..., :3]
    blue = (image[..., 2] > image[..., 0] + 0.25)[:, :490].sum()
    orange = (image[..., 0] > image[..., 2] + 0.25)[:, 510:].sum()
    assert blue > 3000 and orange > 3000  # both figures are drawn, each on its side


@pytest.mark.slow
def test_keys_in_a_browser(tmp_path, walk):
    page = tmp_path / "k.html"
    write_page(page, walk.clip)
    probe = """<script>setTimeout(() => {
        const said = [], press = (key, on, more) => {
          const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
          (on ? byId(on) : document.body).dispatchEvent(event);
          said.push([playing, Math.round(time * 30), event.defaultPrevented]);
        };
        play(false); seek(1);
        press("ArrowRight"); press("ArrowLeft"); press("ArrowLeft");  // frames 31, 30, 29
        press(" "); press(" "); press(" ", "scrub"); play(false);     // plays, stands, plays
        press(" ", "trails"); press(" ", "reset"); press("ArrowRight", "speed"); press("r", null, { ctrlKey: true });  // theirs
        document.title = JSON.stringify(said);
      }, 300);</script>"""
    page.write_text(page.read_text("utf-8").replace("<body>", "<body>" + probe), "utf-8")
    dump = browse(tmp_path, page, "--dump-dom")
    said = json.loads(re.search("<title>(.*?)</title>", dump).group(1))
    assert [row[1] for row in said[:3]] == [31, 30, 29] and [row[0] for row in said[3:6]] == [True, False, True]
    assert all(row[2] for row in said[:6])
    assert said[6:] == [[False, 29, False]] * 4


@pytest.mark.slow
def test_votes_in_a_browser(tmp_path, walk):
    page = tmp_path / "t.html"
    write_trials(page, [(walk.clip, walk.clip.mirror())] * 2, test="x", question="which?")
    text = page.read_text("utf-8")
    probe = (
        "<script>window.onerror = (message) => { document.title = 'ERROR ' + message; };"
        "setTimeout(() => { byId('vote-b').click(); byId('undo').click(); byId('vote-a').click(); byId('vote-b').click();"
        "byId('undo').click(); byId('vote-same').click();"  # second thoughts
        "const said = votes.map((v) => [v.trial, v.choice]);"
        "document.title = JSON.stringify(said) + byId('download').hidden; }, 300);</script>"
    )
    page.write_text(text.replace("<body>", "<body>" + probe), "utf-8")
    dump = browse(tmp_path, page, "--dump-dom")
    assert re.search("<title>(.*?)</title>", dump).group(1) == '[[1,"A"],[2,"same"]]false'


def test_plots_return_their_axes(walk):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from pfnnc.viewer import plot_feet, plot_joint_angles, plot_trajectory

    axes = figure.add_subplot()
    assert plot_trajectory([walk.clip, walk.clip.mirror()], axes=axes) is axes
    assert_allclose(axes.lines[0].get_xdata(), walk.clip.root_positions[:, 0])
    axes = figure.add_subplot()
    assert plot_joint_angles([walk.clip], "LeftLeg", axes=axes) is axes
    angle = axes.lines[0].get_ydata()
    assert 40 < np.ptp(angle) < 90 and len(angle) == 61  # a knee, in degrees
    axes = figure.add_subplot()
    assert plot_feet(walk.clip, walk.feet, contacts=walk.contacts, axes=axes) is axes
    assert_allclose(axes.lines[0].get_ydata().min(), 0.08)


def test_report_saves_json_and_plots(tmp_path, walk):
    report = evaluate(walk.clip, walk.clip, feet=walk.feet)
    pytest.importorskip("matplotlib")
    written = report.save(tmp_path / "out" / "deep")
    assert [path.name for path in written] == ["report.json", "trajectory.png", "joints.png", "feet.png"]
    assert json.loads(written[0].read_text()) == json.loads(report.to_json())
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written[1:])
    assert {path.name for path in (tmp_path / "out" / "deep").iterdir()} == {path.name for path in written}


def test_report_saves_without_matplotlib(tmp_path, walk, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert [path.name for path in evaluate(walk.clip, walk.clip).save(tmp_path)] == ["report.json"]


def test_report_of_one_frame_saves(tmp_path, walk):
    for frames in (0, 1, 2):
        assert evaluate(walk.clip[:frames], walk.clip[:frames], feet=walk.feet).save(tmp_path)
