"use strict";
// Plays one or two clips. Everything is drawn with canvas 2D from joint positions; nothing is loaded.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- data: base64 to arrays

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

let clips, size, duration, frameTime;

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

const start = { yaw: 0.85, pitch: 0.22, distance: 2.2 };  // distance in heights of the figure
const camera = { ...start, target: [0, 0, 0] };
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

class View {
  constructor(shown) {
    this.shown = shown;
    this.box = document.createElement("div");
    this.box.className = "view";
    this.canvas = document.createElement("canvas");
    const head = document.createElement("h2");
    for (const clip of shown) {
      const dot = document.createElement("i");
      dot.style.background = css(clip.index ? "--accent2" : "--accent");
      head.append(dot, clip.title + (clip === shown[shown.length - 1] ? "" : "   "));
    }
    this.facts = document.createElement("div");
    this.facts.className = "facts";
    this.box.append(this.canvas, head, this.facts);
    this.pen = this.canvas.getContext("2d");
    this.target = null;
  }

  fit() {
    const dense = window.devicePixelRatio || 1, w = this.box.clientWidth, h = this.box.clientHeight;
    if (this.canvas.width !== Math.round(w * dense) || this.canvas.height !== Math.round(h * dense)) {
      this.canvas.width = Math.round(w * dense); this.canvas.height = Math.round(h * dense);
    }
    this.pen.setTransform(dense, 0, 0, dense, 0, 0);
    this.w = w; this.h = h;
  }

  aim() {
    const clip = this.shown[0], n = this.shown.length;
    let x = 0, z = 0;
    for (const c of this.shown) { x += c.now[0] / n; z += c.now[2] / n; }
    this.target = follow ? [x, clip.floor + 0.5 * size, z] : camera.target;
    const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw), cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    this.right = [cy, 0, -sy];
    this.back = [sy * cp, sp, cy * cp];
    this.up = [-sy * sp, cp, -cy * sp];
    this.eye = this.target.map((t, i) => t + camera.distance * this.back[i]);
    this.focal = 1.15 * Math.min(this.h, 1.25 * this.w);
  }

  project(p, out) {  // screen x, y, pixels a metre, depth
    const x = p[0] - this.eye[0], y = p[1] - this.eye[1], z = p[2] - this.eye[2];
    const depth = -(x * this.back[0] + y * this.back[1] + z * this.back[2]);
    const k = this.focal / Math.max(depth, 0.02 * size);
    out[0] = this.w / 2 + k * (x * this.right[0] + z * this.right[2]);
    out[1] = this.h / 2 - k * (x * this.up[0] + y * this.up[1] + z * this.up[2]);
    out[2] = k; out[3] = depth;
    return out;
  }

  line(a, b) {  // one segment into the current path, cut at the near plane
    const near = 0.05 * size, P = this.project(a, [0, 0, 0, 0]), Q = this.project(b, [0, 0, 0, 0]);
    if (P[3] < near && Q[3] < near) return;
    if (P[3] < near || Q[3] < near) {
      const s = (near - P[3]) / (Q[3] - P[3]), m = a.map((v, i) => v + s * (b[i] - v));
      return P[3] < near ? this.line(m.map((v, i) => v + 1e-4 * (b[i] - v)), b) : this.line(a, m.map((v, i) => v + 1e-4 * (a[i] - v)));
    }
    this.pen.moveTo(P[0], P[1]); this.pen.lineTo(Q[0], Q[1]);
  }

  grid() {
    const pen = this.pen, cell = size > 0.9 && size < 3 ? 1 : Math.pow(10, Math.round(Math.log10(size / 1.7)));
    const floor = this.shown[0].floor, reach = Math.ceil(Math.max(8, 1.6 * camera.distance / cell)), count = Math.min(reach, 40);
    const cx = Math.round(this.target[0] / cell), cz = Math.round(this.target[2] / cell);
    pen.strokeStyle = css("--grid");
    for (let level = 0; level < 6; level++) {
      pen.globalAlpha = 0.5 * Math.pow(1 - level / 6, 1.6);
      pen.lineWidth = 1;
      pen.beginPath();
      for (let i = -count; i <= count; i++) {
        for (let j = -count; j < count; j++) {
          const far = Math.hypot(i, j + 0.5) / count;
          if (far >= 1 || Math.floor(6 * far) !== level) continue;
          this.line([(cx + i) * cell, floor, (cz + j) * cell], [(cx + i) * cell, floor, (cz + j + 1) * cell]);
          this.line([(cx + j) * cell, floor, (cz + i) * cell], [(cx + j + 1) * cell, floor, (cz + i) * cell]);
        }
      }
      pen.stroke();
    }
    pen.globalAlpha = 1;
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
    const pen = this.pen, colour = css(clip.index ? "--accent2" : "--accent"), out = [0, 0, 0, 0];
    pen.lineCap = "round";
    if (trails) {
      pen.lineWidth = 1.5;
      this.path(clip, 0, 0, clip.frames, colour, 0.3, true);
      pen.lineWidth = 2.5;
      this.path(clip, 0, 0, clip.frame, colour, 0.75, true);
      pen.lineWidth = 1.5;
      for (const feet of clip.feet) this.path(clip, feet[0], clip.frame - Math.round(1.2 * clip.fps), clip.frame, colour, 0.55, false);
    }
    this.shadow(clip, out);
    clip.feet.forEach((feet, foot) => {
      if (!clip.contact || !clip.contact[clip.frame * clip.feet.length + foot]) return;
      const p = [clip.now[3 * feet[0]], clip.floor, clip.now[3 * feet[0] + 2]];
      if (feet.length > 1) for (const i of [0, 2]) p[i] = (p[i] + clip.now[3 * feet[1] + i]) / 2;
      this.disc(p, 0.1 * clip.size, colour);
    });
  }

  shadow(clip, out) {  // straight down, drawn opaque aside so that overlaps do not add up
    const aside = this.aside ??= document.createElement("canvas"), front = this.pen;
    aside.width = this.canvas.width; aside.height = this.canvas.height;
    this.pen = aside.getContext("2d");
    this.pen.setTransform(front.getTransform());
    this.pen.lineCap = "round";
    for (const [child, parent, width] of clip.bones) {
      const a = [clip.now[3 * parent], clip.floor, clip.now[3 * parent + 2]], b = [clip.now[3 * child], clip.floor, clip.now[3 * child + 2]];
      this.pen.lineWidth = Math.max(1, 0.9 * width * this.project(a, out)[2]);
      this.pen.beginPath(); this.line(a, b); this.pen.stroke();
    }
    this.pen = front;
    front.save();
    front.setTransform(1, 0, 0, 1, 0, 0);
    front.globalAlpha = 0.2; front.filter = "blur(2px)";
    front.drawImage(aside, 0, 0);
    front.restore();
  }

  disc(p, radius, colour) {
    const pen = this.pen, out = [0, 0, 0, 0];
    pen.beginPath();
    for (let i = 0; i <= 28; i++) {
      const t = 2 * Math.PI * i / 28;
      this.project([p[0] + radius * Math.cos(t), p[1], p[2] + radius * Math.sin(t)], out);
      if (out[3] < 0.05 * size) return;
      pen.lineTo(out[0], out[1]);
    }
    pen.fillStyle = colour; pen.globalAlpha = 0.35; pen.fill();
    pen.strokeStyle = colour; pen.globalAlpha = 0.95; pen.lineWidth = 2; pen.stroke();
    pen.globalAlpha = 1;
  }

  figure(clip) {
    const shades = clip.index ? [[244, 178, 106], [196, 98, 32], [226, 138, 62]] : [[122, 174, 255], [38, 92, 190], [78, 132, 226]];
    const bones = clip.bones.map(([child, parent, width, side]) => {
      const a = this.project(clip.now.subarray(3 * parent, 3 * parent + 3), [0, 0, 0, 0]);
      const b = this.project(clip.now.subarray(3 * child, 3 * child + 3), [0, 0, 0, 0]);
      return { a, b, width, side, depth: a[3] + b[3], near: Math.min(a[3], b[3]) };
    });
    bones.sort((p, q) => q.depth - p.depth);
    for (const bone of bones) if (bone.near > 0.05 * size) this.capsule(bone, shades[bone.side]);
  }

  capsule({ a, b, width }, shade) {  // a limb: two circles and their tangents, lit from above
    const pen = this.pen, ra = Math.max(1, 0.5 * width * a[2]), rb = Math.max(1, 0.5 * width * b[2]);
    const dx = b[0] - a[0], dy = b[1] - a[1], length = Math.hypot(dx, dy) || 1e-6, angle = Math.atan2(dy, dx);
    const tilt = Math.acos(Math.max(-1, Math.min(1, (ra - rb) / length)));
    pen.beginPath();
    if (length <= Math.abs(ra - rb)) {
      const [p, r] = ra > rb ? [a, ra] : [b, rb];
      pen.arc(p[0], p[1], r, 0, 2 * Math.PI);
    } else {
      pen.arc(a[0], a[1], ra, angle + tilt, angle - tilt + 2 * Math.PI);
      pen.arc(b[0], b[1], rb, angle - tilt, angle + tilt);
      pen.closePath();
    }
    let nx = length > 1e-3 ? -dy / length : 0, ny = length > 1e-3 ? dx / length : -1;
    if (ny > 0 || (Math.abs(ny) < 0.2 && nx > 0)) { nx = -nx; ny = -ny; }
    const r = Math.max(ra, rb), mx = (a[0] + b[0]) / 2, my = (a[1] + b[1]) / 2;
    const fill = pen.createLinearGradient(mx + nx * r, my + ny * r, mx - nx * r, my - ny * r);
    const tone = (f) => `rgb(${shade.map((v) => Math.round(Math.max(0, Math.min(255, f < 1 ? v * f : v + (255 - v) * (f - 1))))).join(",")})`;
    fill.addColorStop(0, tone(1.3)); fill.addColorStop(0.45, tone(1.0)); fill.addColorStop(1, tone(0.68));
    pen.fillStyle = fill; pen.fill();
    pen.strokeStyle = tone(0.5); pen.lineWidth = 1; pen.stroke();
  }

  dial(clip, x) {  // a clock of the gait: left strike on top, right strike at the bottom
    if (!clip.phase) return;
    const pen = this.pen, y = 62, r = 34, phase = clip.phase[clip.frame], none = Number.isNaN(phase), ink = css("--ink");
    const colour = css(clip.index ? "--accent2" : "--accent");
    pen.lineWidth = 2; pen.strokeStyle = none ? css("--edge") : css("--faint");
    pen.beginPath(); pen.arc(x, y, r, 0, 2 * Math.PI); pen.stroke();
    pen.font = "600 11px system-ui, 'DejaVu Sans', sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle";
    const lamp = (text, ty, foot) => {
      const on = clip.contact && foot < clip.feet.length && clip.contact[clip.frame * clip.feet.length + foot];
      pen.beginPath(); pen.arc(x, ty, 9, 0, 2 * Math.PI);
      pen.fillStyle = on ? colour : css("--panel"); pen.fill(); pen.stroke();
      pen.fillStyle = on ? "#fff" : css("--faint"); pen.fillText(text, x, ty + 0.5);
    };
    lamp("L", y - r, 0); lamp("R", y + r, 1);
    if (!none) {
      const t = 2 * Math.PI * phase - Math.PI / 2;
      pen.strokeStyle = colour; pen.lineWidth = 3; pen.lineCap = "round";
      pen.beginPath(); pen.moveTo(x, y); pen.lineTo(x + (r - 12) * Math.cos(t), y + (r - 12) * Math.sin(t)); pen.stroke();
    }
    pen.fillStyle = ink; pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    pen.fillText(none ? "no phase" : "phase " + phase.toFixed(2), x, y + r + 21);
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
  byId("scrub").value = 1000 * time / (duration || 1);
  byId("clock").textContent = `${time.toFixed(2)} s of ${duration.toFixed(2)} s`;
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
  if (event.target.matches("select, input[type=range]") && event.key !== " ") return;
  const action = { " ": () => play(!playing), ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), r: () => { home(); draw(); } }[event.key];
  if (action && !(event.key === " " && event.target.matches("button"))) { event.preventDefault(); action(); }
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
    camera.yaw -= 0.008 * dx;
    camera.pitch = Math.min(1.5, Math.max(-0.1, camera.pitch + 0.006 * dy));
  }
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  draw();
});
function zoom(factor) { camera.distance = Math.min(60 * size, Math.max(0.4 * size, camera.distance * factor)); draw(); }
stage.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(0.0012 * event.deltaY)); }, { passive: false });
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
  if (trial + 1 < trials.length) { open(trial + 1); return; }
  byId("question").textContent = "Thank you. Please download your votes and send them back.";
  for (const id of ["vote-a", "vote-b", "vote-same"]) byId(id).disabled = true;
  byId("download").hidden = false;
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
byId("download").addEventListener("click", download);

const asked = new URLSearchParams(location.hash.slice(1));  // page.html#t=2.5 stands at 2.5 s, #together=1 lays both over each other
together = asked.get("together") === "1" && trials[0].length > 1;
byId("together").checked = together;
open(0);
if (asked.has("t")) seek(asked.get("t"));
else if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
