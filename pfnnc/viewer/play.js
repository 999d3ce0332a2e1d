// Steers one character: keys, gamepad and mouse in, the core's points out.

const SETTLE = 2.5;  // seconds that pass before the first picture: it begins walking and comes to a stand
const TRAIL = 600;
const LONG = 0.1;  // seconds: the most that one picture moves on
const ACTIONS = {
  KeyW: "ahead", ArrowUp: "ahead", KeyS: "back", ArrowDown: "back", KeyA: "left", ArrowLeft: "left", KeyD: "right",
  ArrowRight: "right", ShiftLeft: "jog", ShiftRight: "jog",
};

const held = new Set(), trail = [];
const timing = { begun: 0, spent: 0, frames: 0, pictures: 0, step: 0, rate: 0 };
const shown = {
  ...data.figure, index: 0, frame: 0, title: data.title, phase: new Float32Array(1), contact: data.contacts ? new Uint8Array(2) : null,
};
let player, scene, last = null;

// ---- what the player wants

function pad() {  // the first gamepad: left stick, right stick, trigger or shoulder to jog
  const found = [...(navigator.getGamepads?.() || [])].find((g) => g && g.axes.length >= 2);
  if (!found) return null;
  const dead = (v) => Math.abs(v || 0) < 0.15 ? 0 : v;
  return { x: dead(found.axes[0]), y: -dead(found.axes[1]), turn: dead(found.axes[2]), tilt: dead(found.axes[3]),
    jog: [4, 5, 6, 7].some((b) => found.buttons[b]?.pressed) };
}

/* Wanted velocity in the world, m/s: keys and stick are seen from the camera. */
function wish(dt) {
  const stick = pad(), on = (name) => held.has(name) ? 1 : 0;
  let x = on("right") - on("left"), y = on("ahead") - on("back"), jog = held.has("jog");
  if (stick) {
    x += stick.x; y += stick.y; jog ||= stick.jog;
    turn(-300 * dt * stick.turn, 200 * dt * stick.tilt);
  }
  const length = Math.hypot(x, y), speed = Math.min(length, 1) * (jog ? data.speeds.jog : Number(byId("pace").value));
  if (length < 1e-6) return [0, 0];
  const c = Math.cos(camera.yaw), s = Math.sin(camera.yaw);
  return [speed * (x * c - y * s) / length, speed * (-x * s - y * c) / length];
}

// ---- time

function advance(dt) {
  const [x, z] = wish(dt), before = player.state.frames, begun = performance.now();
  player.step(dt, x, z);
  timing.spent += performance.now() - begun;
  const state = player.state;
  timing.frames += state.frames - before;
  if (state.frames !== before) trail.push([state.root[0], shown.floor, state.root[2]]);
  if (trail.length > TRAIL) trail.shift();
}

function take() {  // the core's numbers into what is drawn
  const state = player.state;
  shown.now.set(player.points);
  shown.phase[0] = state.phase;
  if (shown.contact) state.contacts.forEach((c, i) => { shown.contact[i] = c > 0.5 ? 1 : 0; });
  return state;
}

function draw() {
  const state = take(), pen = scene.pen;
  scene.fit();
  scene.look([state.root[0], shown.floor + 0.5 * size, state.root[2]]);
  pen.clearRect(0, 0, scene.w, scene.h);
  pen.lineCap = "round";
  scene.grid();
  behind(pen);
  scene.shadow(shown);
  ahead(pen, state);
  scene.stands(shown, css("--accent"));
  scene.figure(shown);
  scene.dial(shown, scene.w - 58);
  const speed = Math.hypot(state.velocity[0], state.velocity[2]);
  scene.facts.textContent = `${speed.toFixed(2)} m/s · ${timing.step.toFixed(2)} ms a step · ${timing.rate.toFixed(0)} pictures a second`;
}

function behind(pen) {  // where it has been
  pen.strokeStyle = css("--accent"); pen.lineWidth = 2;
  for (let i = 1; i < trail.length; i++) {
    pen.globalAlpha = 0.6 * i / trail.length;
    pen.beginPath(); scene.line(trail[i - 1], trail[i]); pen.stroke();
  }
  pen.globalAlpha = 1;
}

function ahead(pen, state) {  // where it is wanted, and which way it shall face there
  const rows = player.wanted, colour = css("--accent2"), reach = 0.14 * size;
  let from = [state.root[0], shown.floor, state.root[2]];
  data.times.forEach((time, i) => {
    if (time <= 0) return;
    const at = [rows[3 * i], shown.floor, rows[3 * i + 1]], yaw = rows[3 * i + 2];
    const tip = [at[0] + reach * Math.sin(yaw), at[1], at[2] + reach * Math.cos(yaw)];
    pen.strokeStyle = colour; pen.lineWidth = 2.5; pen.globalAlpha = 0.9;
    pen.beginPath(); scene.line(from, at); pen.stroke();
    pen.beginPath(); scene.line(at, tip); pen.stroke();
    scene.disc(at, 0.035 * size, colour);
    from = at;
  });
  pen.globalAlpha = 1;
}

function tick(now) {
  requestAnimationFrame(tick);
  const dt = last === null ? 0 : Math.min(LONG, (now - last) / 1000);
  last = now;
  if (dt > 0) {
    try { advance(dt); } catch (error) { fail(error); }
    measure(now);
  }
  draw();
}

function measure(now) {  // twice a second
  timing.pictures++;
  if (now - timing.begun < 500) return;
  timing.step = timing.frames ? timing.spent / timing.frames : timing.step;
  timing.rate = 1000 * timing.pictures / (now - timing.begun);
  Object.assign(timing, { begun: now, spent: 0, frames: 0, pictures: 0 });
}

// ---- keys, mouse

function press(event, down) {
  if (down && (event.ctrlKey || event.metaKey || event.altKey)) return;  // but a key let go is let go
  const action = ACTIONS[event.code];
  if (!action || (down && event.target.matches?.("input[type=range]") && event.code.startsWith("Arrow"))) return;
  if (action !== "jog") event.preventDefault();
  held[down ? "add" : "delete"](action);
  light();
}

function light() {
  for (const key of document.querySelectorAll("[data-action]")) key.classList.toggle("on", held.has(key.dataset.action));
}

function release() { held.clear(); light(); }

function home() { Object.assign(camera, { yaw: Math.PI, pitch: 0.3, distance: 2.6 * size }); }

document.addEventListener("keydown", (event) => {
  if (event.code === "KeyR" && !event.ctrlKey && !event.metaKey) home();
  if (event.code === "KeyL" && !event.ctrlKey && !event.metaKey && !byId("lock").disabled) byId("lock").click();
  press(event, true);
});
document.addEventListener("keyup", (event) => press(event, false));
window.addEventListener("blur", release);
document.addEventListener("visibilitychange", release);
for (const key of document.querySelectorAll("[data-action]")) {  // the keys drawn on the page work by finger
  key.addEventListener("pointerdown", (event) => { event.preventDefault(); held.add(key.dataset.action); light(); });
  for (const gone of ["pointerup", "pointerleave", "pointercancel"]) {
    key.addEventListener(gone, () => { held.delete(key.dataset.action); light(); });
  }
}

const stage = byId("stage");
stage.addEventListener("pointerdown", (event) => stage.setPointerCapture(event.pointerId));
stage.addEventListener("pointermove", (event) => { if (event.buttons) turn(event.movementX, event.movementY); });
stage.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(0.0012 * event.deltaY)); }, { passive: false });
stage.addEventListener("contextmenu", (event) => event.preventDefault());
byId("reset").addEventListener("click", home);
byId("lock").addEventListener("change", (event) => player?.lock(event.target.checked));
byId("pace").addEventListener("input", pace);
byId("pace").addEventListener("pointerup", (event) => event.target.blur());  // the arrows steer again
function pace() { byId("pace-shown").textContent = `${Number(byId("pace").value).toFixed(1)} m/s`; }

// ---- begin

function fail(error) {
  byId("trouble").textContent = `This did not work: ${error.message}`;
  byId("trouble").hidden = false;
}

async function begin() {
  const numbers = (text) => new Float64Array(bytes(text));
  size = shown.size;
  shown.now = new Float32Array(3 * shown.count);
  Object.assign(byId("pace"), { min: data.speeds.least, max: data.speeds.jog, value: data.speeds.walk });
  pace();
  byId("lock").disabled = !data.legs.length;
  home();
  player = await Player.open(bytes(data.wasm), bytes(data.model), numbers(data.start), data.legs.flat());
  for (let t = 0; t < SETTLE; t += data.frame) player.step(data.frame, 0, 0);
  player.lock(byId("lock").checked);
  scene = new Scene([shown]);
  stage.replaceChildren(scene.box);
  draw();
  requestAnimationFrame(tick);
}

const ready = begin().catch(fail);
