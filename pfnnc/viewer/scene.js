"use strict";
// What every page draws with: a figure of bones over a floor, on a canvas 2D. Nothing is loaded.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function bytes(text) {  // base64 to an array's bytes
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

let size = 1;  // height of the figure: the measure of everything drawn
const start = { yaw: 0.85, pitch: 0.22, distance: 2.2 };  // distance in heights of the figure
const camera = { ...start, target: [0, 0, 0] };

function zoom(factor) { camera.distance = Math.min(60 * size, Math.max(0.4 * size, camera.distance * factor)); }

function turn(dx, dy) {  // the camera, by pixels of a drag
  camera.yaw -= 0.008 * dx;
  camera.pitch = Math.min(1.5, Math.max(-0.1, camera.pitch + 0.006 * dy));
}

/* A box with a canvas. `shown` are figures: {now: (points * 3) positions, bones, floor, size, feet, index of its colour,
 * title} and, at their `frame`, `phase` and `contact` of each foot, or null. */
class Scene {
  constructor(shown) {
    this.shown = shown;
    this.box = document.createElement("div");
    this.box.className = "view";
    this.canvas = document.createElement("canvas");
    const head = document.createElement("h2");
    for (const clip of shown) {
      const dot = document.createElement("i");
      dot.style.background = css(clip.index ? "--accent2" : "--accent");
      head.append(dot, clip.title);
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

  look(target) {  // the camera's axes, looking at a point
    const cy = Math.cos(camera.yaw), sy = Math.sin(camera.yaw), cp = Math.cos(camera.pitch), sp = Math.sin(camera.pitch);
    this.target = target;
    this.right = [cy, 0, -sy];
    this.back = [sy * cp, sp, cy * cp];
    this.up = [-sy * sp, cp, -cy * sp];
    this.eye = target.map((t, i) => t + camera.distance * this.back[i]);
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

  stands(clip, colour) {  // a disc under each foot in contact
    clip.feet.forEach((feet, foot) => {
      if (!clip.contact || !clip.contact[clip.frame * clip.feet.length + foot]) return;
      const p = [clip.now[3 * feet[0]], clip.floor, clip.now[3 * feet[0] + 2]];
      if (feet.length > 1) for (const i of [0, 2]) p[i] = (p[i] + clip.now[3 * feet[1] + i]) / 2;
      this.disc(p, 0.1 * clip.size, colour);
    });
  }

  shadow(clip) {  // straight down, drawn opaque aside so that overlaps do not add up
    const aside = this.aside ??= document.createElement("canvas"), front = this.pen, out = [0, 0, 0, 0];
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
