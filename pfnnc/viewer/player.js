// The core in WebAssembly (csrc/wasm/player.c): no document in here.

const ABSENT = 8;  // what a system call answers that there is none of: WASI's EBADF

class Player {
  /* wasm, model: bytes; begin: numbers of the start; legs: 7 numbers a leg, or none. */
  static async open(wasm, model, begin, legs) {
    const player = new Player();
    const wasi = {
      environ_sizes_get: (count, size) => { player.integers(count, 1)[0] = 0; player.integers(size, 1)[0] = 0; return 0; },
      environ_get: () => 0,
      proc_exit: (code) => { throw new Error(`the core stopped with ${code}`); },
    };
    const asked = new Proxy(wasi, { get: (known, name) => known[name] || (() => ABSENT), has: () => true });
    const { instance } = await WebAssembly.instantiate(wasm, { wasi_snapshot_preview1: asked });
    player.core = instance.exports;
    player.core._initialize();
    const n = legs.length / 7;
    if (!player.core.player_open(player.give(new Uint8Array(model)), model.byteLength, player.doubles(begin), begin.length, player.doubles(legs), n)) {
      throw new Error(player.error());
    }
    return player;
  }

  give(array) {  // a copy in the core's memory
    const at = this.core.player_reserve(array.byteLength + 8);
    if (!at) throw new Error("no memory");
    new Uint8Array(this.core.memory.buffer, at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return at;
  }

  doubles(numbers) { return this.give(Float64Array.from(numbers)); }
  integers(at, n) { return new Uint32Array(this.core.memory.buffer, at, n); }
  numbers(at, n) { return new Float64Array(this.core.memory.buffer, at, n); }

  error() {
    const text = new Uint8Array(this.core.memory.buffer, this.core.player_error());
    return new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
  }

  /* Go on by dt seconds; x, z: wanted m/s in the world; facing: yaw, NaN for the way that it moves. */
  step(dt, x, z, facing = NaN) {
    if (!this.core.player_step(dt, x, z, facing)) throw new Error(this.error());
  }

  lock(on) { this.core.player_lock(on ? 1 : 0); }
  get points() { return this.numbers(this.core.player_points(), 3 * this.core.player_n_points()); }
  get wanted() { return this.numbers(this.core.player_wanted(), 3 * this.core.player_n_wanted()); }

  get state() {
    const s = this.numbers(this.core.player_shown(), 11);
    return {
      root: [s[0], s[1], s[2]], yaw: s[3], phase: s[4], velocity: [s[5], s[6], s[7]], contacts: [s[8], s[9]], frames: s[10],
    };
  }
}
