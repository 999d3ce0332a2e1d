// Plays one or two clips from joint positions.

let clips, duration, frameTime;

function unpack(shown) {
  clips = shown.map((c, index) => ({
    ...c, index,
    root: new Float32Array(bytes(c.root)),
    offset: new Int16Array(bytes(c.points)),
    phase: c.phase ? new Float32Array(bytes(c.phase)) : null,
    contact: c.contacts ? new Uint8Array(bytes(c.contacts)) : null,
    duration: Math.max(0, c.frames - 1) / c.fps,
    now: new Float32Array(3 * c.count),
  }));
  size = Math.max(...clips.map((c) => c.size)) || 1;  // height of the figure: the measure of everything drawn
  duration = Math.max(...clips.map((c) => c.duration));
  frameTime = 1 / Math.max(...clips.map((c) => c.fps));
}

function pose(clip, time) {  // positions at a time, straight between two frames
  const at = Math.min(Math.max(time * clip.fps, 0), clip.frames - 1);
  const a = Math.floor(at + 1e-6), b = Math.min(a + 1, clip.frames - 1), s = Math.max(0, at - a), n = 3 * clip.count;
  for (let i = 0; i < n; i++) {
    const p = clip.root[3 * a + i % 3] + clip.offset[a * n + i] * clip.step;
    const q = clip.root[3 * b + i % 3] + clip.offset[b * n + i] * clip.step;
    clip.now[i] = p + s * (q - p);
  }
  clip.frame = Math.round(at);
}

function pointAt(clip, frame, joint, out) {
  for (let i = 0; i < 3; i++) {
    out[i] = clip.root[3 * frame + i] + clip.offset[3 * (frame * clip.count + joint) + i] * clip.step;
  }
  return out;
}

// ---- camera

let follow = true, trails = true, together = false, playing = false, time = 0, rate = 1, last = 0;

function home() {
  Object.assign(camera, start, { distance: start.distance * size });
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const c of clips) {
    for (let f = 0; f < c.frames; f++) {
      box[0] = Math.min(box[0], c.root[3 * f]); box[2] = Math.max(box[2], c.root[3 * f]);
      box[1] = Math.min(box[1], c.root[3 * f + 2]); box[3] = Math.max(box[3], c.root[3 * f + 2]);
    }
  }
  camera.target = [(box[0] + box[2]) / 2, clips[0].floor + 0.5 * size, (box[1] + box[3]) / 2];
  if (!follow) camera.distance = Math.max(start.distance * size, 0.9 * Math.hypot(box[2] - box[0], box[3] - box[1]) + size);
}

class View extends Scene {
  aim() {
    const clip = this.shown[0], n = this.shown.length;
    let x = 0, z = 0;
    for (const c of this.shown) { x += c.now[0] / n; z += c.now[2] / n; }
    this.look(follow ? [x, clip.floor + 0.5 * size, z] : camera.target);
  }

  path(clip, joint, from, to, colour, alpha, ground) {
    const pen = this.pen, a = [0, 0, 0], b = [0, 0, 0], skip = Math.max(1, Math.round(clip.fps / 30));
    pen.strokeStyle = colour; pen.globalAlpha = alpha;
    pen.beginPath();
    for (let f = Math.max(0, from); f < Math.min(to, clip.frames - 1); f += skip) {
      pointAt(clip, f, joint, a); pointAt(clip, Math.min(f + skip, clip.frames - 1), joint, b);
      if (ground) a[1] = b[1] = clip.floor;
      this.line(a, b);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  draw() {
    this.fit();
    this.aim();
    const pen = this.pen;
    pen.clearRect(0, 0, this.w, this.h);
    this.grid();
    for (const clip of this.shown) this.under(clip);
    for (const clip of this.shown) this.figure(clip);
    this.shown.forEach((clip, i) => this.dial(clip, this.w - 58 - 104 * (this.shown.length - 1 - i)));
    this.facts.textContent = this.shown.map(facts).join("   |   ");
  }

  under(clip) {  // what lies on the floor
    const pen = this.pen, colour = css(clip.index ? "--accent2" : "--accent");
    pen.lineCap = "round";
    if (trails) {
      pen.lineWidth = 1.5;
      this.path(clip, 0, 0, clip.frames, colour, 0.3, true);
      pen.lineWidth = 2.5;
      this.path(clip, 0, 0, clip.frame, colour, 0.75, true);
      pen.lineWidth = 1.5;
      for (const feet of clip.feet) this.path(clip, feet[0], clip.frame - Math.round(1.2 * clip.fps), clip.frame, colour, 0.55, false);
    }
    this.shadow(clip);
    this.stands(clip, colour);
  }
}

function facts(clip) {
  const span = Math.max(1, Math.round(clip.fps / 3)), b = Math.min(clip.frame + span, clip.frames - 1), a = Math.max(0, b - 2 * span);
  const moved = b > a ? Math.hypot(clip.root[3 * b] - clip.root[3 * a], clip.root[3 * b + 2] - clip.root[3 * a + 2]) * clip.fps / (b - a) : 0;
  return `frame ${clip.frame + 1} of ${clip.frames} at ${+clip.fps.toFixed(2)} fps · ${moved.toFixed(2)} m/s`;
}

// ---- page

let views = [];
function arrange() {
  views = together ? [new View(clips)] : clips.map((clip) => new View([clip]));
  byId("stage").replaceChildren(...views.map((view) => view.box));
  const rows = clips.filter((clip) => clip.contact).length;
  byId("timeline").style.height = rows ? `${rows * 26 + 4}px` : "0";
  draw();
}

function timeline() {  // contacts over time, a row a foot
  const canvas = byId("timeline"), w = canvas.clientWidth, h = canvas.clientHeight;
  if (!h) return;
  const dense = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = w * dense; canvas.height = h * dense;
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  let y = 2;
  pen.font = "10px system-ui, 'DejaVu Sans', sans-serif"; pen.textBaseline = "middle";
  for (const clip of clips) {
    if (!clip.contact) continue;
    const feet = clip.feet.length, tall = 22 / feet, colour = css(clip.index ? "--accent2" : "--accent");
    for (let foot = 0; foot < feet; foot++) {
      pen.fillStyle = colour;
      for (let f = 0; f < clip.frames; f++) {
        if (!clip.contact[f * feet + foot]) continue;
        let end = f;
        while (end < clip.frames && clip.contact[end * feet + foot]) end++;
        const x = 14 + (w - 14) * f / clip.fps / (duration || 1);
        pen.globalAlpha = 0.8;
        pen.fillRect(x, y + foot * tall, Math.max(1, (w - 14) * (end - f) / clip.fps / (duration || 1)), tall - 2);
        f = end;
      }
      pen.globalAlpha = 1; pen.fillStyle = css("--faint");
      pen.fillText(feet === 2 ? "LR"[foot] : String(foot + 1), 1, y + foot * tall + tall / 2 - 1);
    }
    y += 26;
  }
  pen.fillStyle = css("--ink");
  pen.fillRect(14 + (w - 14) * time / (duration || 1) - 1, 0, 2, h);
}

function draw() {
  for (const clip of clips) pose(clip, time);
  for (const view of views) view.draw();
  timeline();
  const clock = `${time.toFixed(2)} s of ${duration.toFixed(2)} s`;
  byId("scrub").value = 1000 * time / (duration || 1);
  byId("scrub").setAttribute("aria-valuetext", clock);
  byId("clock").textContent = clock;
  byId("play").textContent = playing ? "\u275a\u275a" : "\u25b6";
}

function tick(now) {
  if (playing) {
    time += rate * Math.min(0.1, (now - last) / 1000);
    if (time > duration) time = duration > 0 ? time % duration : 0;
    draw();
  }
  last = now;
  requestAnimationFrame(tick);
}

function seek(t) { time = Math.min(Math.max(Number(t) || 0, 0), duration); draw(); }
function play(on) { playing = on; draw(); }
function stepBy(n) { playing = false; seek(Math.round(time / frameTime + n) * frameTime); }

byId("scrub").addEventListener("input", (event) => seek(event.target.value / 1000 * duration));
byId("play").addEventListener("click", () => play(!playing));
byId("back").addEventListener("click", () => stepBy(-1));
byId("next").addEventListener("click", () => stepBy(1));
byId("speed").addEventListener("change", (event) => { rate = Number(event.target.value); });
byId("follow").addEventListener("change", (event) => { follow = event.target.checked; home(); draw(); });
byId("trails").addEventListener("change", (event) => { trails = event.target.checked; draw(); });
byId("together").addEventListener("change", (event) => { together = event.target.checked; arrange(); });
byId("reset").addEventListener("click", () => { home(); draw(); });
document.addEventListener("keydown", (event) => {
  const space = event.key === " ", on = (what) => event.target.matches(what);
  if (event.ctrlKey || event.metaKey || event.altKey) return;  // the browser's own
  if (space ? on("button, select, input[type=checkbox]") : on("select, input[type=range]")) return;  // what has the focus
  const action = { " ": () => play(!playing), ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), r: () => { home(); draw(); } }[event.key];
  if (action) { event.preventDefault(); action(); }
});

const fingers = new Map();
const stage = byId("stage");
stage.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, [event.clientX, event.clientY]); stage.setPointerCapture(event.pointerId); });
for (const gone of ["pointerup", "pointercancel"]) stage.addEventListener(gone, (event) => fingers.delete(event.pointerId));
stage.addEventListener("contextmenu", (event) => event.preventDefault());
stage.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const dx = event.clientX - before[0], dy = event.clientY - before[1];
  if (fingers.size === 2) {  // two fingers: pinch
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    zoom(gap(before) / gap([event.clientX, event.clientY]));
  } else if (event.shiftKey || event.buttons === 2) {
    if (follow) { camera.target = views[0].target.slice(); follow = false; byId("follow").checked = false; }
    const k = camera.distance / views[0].focal;
    for (let i = 0; i < 3; i++) camera.target[i] += k * (dy * views[0].up[i] - dx * views[0].right[i]);
  } else {
    turn(dx, dy);
  }
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  draw();
});
stage.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(0.0012 * event.deltaY)); draw(); }, { passive: false });
const timelineSeek = (event) => { const box = byId("timeline").getBoundingClientRect(); seek((event.clientX - box.left - 14) / (box.width - 14) * duration); };
byId("timeline").addEventListener("pointerdown", (event) => { byId("timeline").setPointerCapture(event.pointerId); timelineSeek(event); });
byId("timeline").addEventListener("pointermove", (event) => { if (event.buttons) timelineSeek(event); });
new ResizeObserver(() => views.length && draw()).observe(stage);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", arrange);

// ---- trials of a blind test, or the one pair of a plain page

const trials = data.trials || [data.clips], votes = [];
let trial = 0, opened = 0;

function open(n) {
  trial = n;
  unpack(trials[n]);
  byId("together-label").style.display = clips.length < 2 || data.question ? "none" : "";
  byId("question").textContent = data.question ? `${n + 1} of ${trials.length}: ${data.question}` : "";
  time = 0; opened = performance.now();
  home();
  arrange();
}

function vote(choice) {
  votes.push({ trial: trial + 1, choice, seconds: Math.round((performance.now() - opened) / 100) / 10 });
  ask(votes.length);
}

function undo() { votes.pop(); ask(votes.length); }

function ask(n) {  // for the vote on the next trial, or for all of them
  const done = n === trials.length;
  for (const id of ["vote-a", "vote-b", "vote-same"]) byId(id).disabled = done;
  byId("download").hidden = !done;
  byId("undo").hidden = n === 0;
  if (done) byId("question").textContent = "Thank you. Please download your votes and send them back.";
  else open(n);
}

function download() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ test: data.test, votes }, null, 1)], { type: "application/json" }));
  link.download = "votes.json";
  link.click();
}

byId("votes").hidden = !data.question;
byId("vote-a").addEventListener("click", () => vote("A"));
byId("vote-b").addEventListener("click", () => vote("B"));
byId("vote-same").addEventListener("click", () => vote("same"));
byId("undo").addEventListener("click", undo);
byId("download").addEventListener("click", download);

const asked = new URLSearchParams(location.hash.slice(1));  // page.html#t=2.5 stands at 2.5 s, #together=1 lays both over each other
together = asked.get("together") === "1" && trials[0].length > 1;
byId("together").checked = together;
open(0);
if (asked.has("t")) seek(asked.get("t"));
else if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
