/** The map: points in a plane, drawn with WebGL 2.
 *
 * Written by hand rather than with regl, which compiles its commands with `Function`: the page's
 * policy (default-src 'self') forbids that, and the points need one program of a few lines.
 */

export type Mode = "pan" | "lasso" | "box";
export type Corner = [number, number];
export type Box = { left: number; bottom: number; right: number; top: number };
export type PairLine = { from: number; to: number; kind: "must" | "cannot" };

const POINTS = `#version 300 es
layout(location=0) in vec2 place;
layout(location=1) in vec4 colour;
uniform vec3 camera; // centre, and half of what is seen of the plane upwards
uniform float aspect;
uniform float size;
out vec4 ink;
void main() {
  ink = colour;
  vec2 seen = (place - camera.xy) / camera.z;
  gl_Position = colour.a == 0. ? vec4(2., 2., 2., 1.) : vec4(seen.x / aspect, seen.y, 0., 1.);
  gl_PointSize = size;
}`;

const INK = `#version 300 es
precision mediump float;
in vec4 ink;
uniform float round_;
uniform vec4 ring;
out vec4 found;
void main() {
  float far = length(gl_PointCoord - .5);
  if (round_ > .5 && far > .5) discard;
  found = far > .32 ? vec4(mix(ink.rgb, ring.rgb, ring.a), max(ink.a, ring.a)) : ink;
  found.rgb *= found.a;
}`;

const SHEET = `#version 300 es
uniform vec3 camera;
uniform float aspect;
out vec2 at;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  at = corner;
  vec2 seen = (corner * 2. - 1. - camera.xy) / camera.z;
  gl_Position = vec4(seen.x / aspect, seen.y, 0., 1.);
}`;

const CLOUD = `#version 300 es
precision mediump float;
in vec2 at;
uniform sampler2D counts;
uniform vec3 tint;
out vec4 found;
void main() {
  float much = texture(counts, at).r;
  found = vec4(tint * much, much) * .55;
}`;

const MANY = 5_000; // selected points from which rings are faint

export interface Listeners {
  onSelect?: (polygon: Corner[], how: "add" | "subtract" | "replace") => void;
  onClick?: (point: number | null, how: "add" | "replace") => void;
  onHover?: (point: number | null, x: number, y: number) => void;
  onView?: (box: Box, moving: boolean) => void;
}

export class MapView {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly sheet: WebGLProgram;
  private readonly places: WebGLBuffer;
  private readonly colours: WebGLBuffer;
  private readonly chosen: WebGLBuffer;
  private cloud: WebGLTexture | null = null;
  private xy: Float32Array = new Float32Array(0);
  private n = 0;
  private nChosen = 0;
  private lines: PairLine[] = [];
  private camera = { x: 0, y: 0, half: 1.08 };
  private index: PointIndex | null = null;
  private waiting = 0;
  private touched = false; // whether somebody has moved the map
  private moving = false;
  private thin = 1; // every how manieth point is drawn while the map moves
  private painted = 0;
  private path: Corner[] = [];
  private readonly observer: ResizeObserver;
  mode: Mode = "pan";
  /** How often the map was drawn; tests and measurements read it. */
  frames = 0;
  private look = { ring: [0.1, 0.1, 0.1, 1], tint: [0.4, 0.45, 0.5] };

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly over: SVGSVGElement,
    private readonly listeners: Listeners,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: false, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser cannot draw the map (WebGL 2 is missing). The table below has every row and every action.");
    this.gl = gl;
    this.program = link(gl, POINTS, INK);
    this.sheet = link(gl, SHEET, CLOUD);
    this.places = gl.createBuffer();
    this.colours = gl.createBuffer();
    this.chosen = gl.createBuffer();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    this.hear();
  }

  close(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.waiting);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Show points: two numbers each. */
  draw(xy: Float32Array<ArrayBufferLike>): void {
    const gl = this.gl;
    this.xy = xy;
    this.n = xy.length / 2;
    this.index = null;
    this.nChosen = 0;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.bufferData(gl.ARRAY_BUFFER, xy, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
    gl.bufferData(gl.ARRAY_BUFFER, new Uint8Array(4 * this.n).fill(128), gl.DYNAMIC_DRAW);
    this.paintSoon();
  }

  /** Give every point a colour: red, green, blue and opacity; a point without opacity is not drawn. */
  recolour(rgba: Uint8Array): void {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, rgba);
    this.paintSoon();
  }

  /** Put a ring around points. */
  select(points: Uint32Array): void {
    const gl = this.gl;
    this.nChosen = points.length;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.chosen);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, points, gl.DYNAMIC_DRAW);
    this.paintSoon();
  }

  /** Draw pairs of points: a full line for "same", a broken one for "different". */
  highlightPairs(lines: PairLine[]): void {
    this.lines = lines.slice(0, 400);
    this.paintSoon();
  }

  /** A cloud under the points, which are a sample then: counts in a square grid, from below. */
  density(counts: Float32Array | null): void {
    const gl = this.gl;
    if (this.cloud) gl.deleteTexture(this.cloud);
    this.cloud = null;
    if (counts) {
      const side = Math.round(Math.sqrt(counts.length));
      const most = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 1));
      const grey = Uint8Array.from(counts, (n) => Math.round((255 * Math.log1p(n)) / most));
      this.cloud = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, this.cloud);
      gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, side, side, 0, gl.RED, gl.UNSIGNED_BYTE, grey);
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
      for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    }
    this.paintSoon();
  }

  dark(isDark: boolean): void {
    this.look = isDark ? { ring: [1, 1, 1, 1], tint: [0.45, 0.5, 0.56] } : { ring: [0.05, 0.08, 0.12, 1], tint: [0.55, 0.6, 0.66] };
    this.paintSoon();
  }

  /** The visible part of the plane. */
  get view(): Box {
    const { x, y, half } = this.camera;
    const wide = half * this.aspect;
    return { left: x - wide, right: x + wide, bottom: y - half, top: y + half };
  }

  /** Half of the visible height when all points are visible. */
  private get all(): number {
    return 1.08 / Math.min(1, this.aspect);
  }

  get isWhole(): boolean {
    return this.camera.half >= this.all - 0.08;
  }

  whole(): void {
    this.camera = { x: 0, y: 0, half: this.all };
    this.moved(false);
    this.touched = false;
  }

  pan(dx: number, dy: number, moving = true): void {
    const step = (2 * this.camera.half) / this.height;
    this.camera.x -= dx * step;
    this.camera.y += dy * step;
    this.moved(moving);
  }

  zoom(factor: number, x = this.width / 2, y = this.height / 2): void {
    const before = this.place(x, y);
    this.camera.half = Math.min(1.4 * this.all, Math.max(1e-4, this.camera.half / factor));
    const after = this.place(x, y);
    this.camera.x += before[0] - after[0];
    this.camera.y += before[1] - after[1];
    this.moved(false);
  }

  /** Where on the canvas a place of the plane is. */
  pixel(x: number, y: number): Corner {
    const { left, right, top, bottom } = this.view;
    return [((x - left) / (right - left)) * this.width, ((top - y) / (top - bottom)) * this.height];
  }

  /** Which place of the plane a pixel shows. */
  place(x: number, y: number): Corner {
    const { left, right, top, bottom } = this.view;
    return [left + (x / this.width) * (right - left), top - (y / this.height) * (top - bottom)];
  }

  /** The nearest visible point within some pixels, or null. */
  pointAt(x: number, y: number, reach = 8): number | null {
    this.index ??= new PointIndex(this.xy);
    const [px, py] = this.place(x, y);
    return this.index.nearest(px, py, (reach * 2 * this.camera.half) / this.height);
  }

  private get width(): number {
    return this.canvas.clientWidth || 1;
  }
  private get height(): number {
    return this.canvas.clientHeight || 1;
  }
  private get aspect(): number {
    return this.width / this.height;
  }

  private moved(moving: boolean): void {
    this.touched = true;
    this.moving = moving;
    this.paintSoon();
    this.listeners.onView?.(this.view, moving);
  }

  private resize(): void {
    const scale = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = Math.max(1, Math.round(this.width * scale));
    this.canvas.height = Math.max(1, Math.round(this.height * scale));
    if (!this.touched) this.camera.half = this.all;
    this.paint();
    this.listeners.onView?.(this.view, false);
  }

  private paintSoon(): void {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.paint());
  }

  /** Draw now; public for measurements, which wait for the pixels. */
  paint(): void {
    this.waiting = 0;
    this.pace();
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.cloud) this.paintCloud();
    if (this.n) this.paintPoints();
    this.paintOver();
    this.frames++;
  }

  /** On a machine without a graphics card fewer points are drawn while the map moves, all of them once it rests. */
  private pace(): void {
    const now = performance.now();
    const gap = now - this.painted;
    this.painted = now;
    if (!this.moving) this.thin = 1;
    else if (gap > 100 && gap < 2000) this.thin = Math.min(16, this.thin * 2);
    else if (gap < 25) this.thin = Math.max(1, this.thin / 2);
  }

  private aim(program: WebGLProgram): void {
    const gl = this.gl;
    gl.useProgram(program);
    gl.uniform3f(gl.getUniformLocation(program, "camera"), this.camera.x, this.camera.y, this.camera.half);
    gl.uniform1f(gl.getUniformLocation(program, "aspect"), this.aspect);
  }

  private paintCloud(): void {
    const gl = this.gl;
    this.aim(this.sheet);
    gl.bindTexture(gl.TEXTURE_2D, this.cloud);
    gl.uniform3fv(gl.getUniformLocation(this.sheet, "tint"), this.look.tint);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  private paintPoints(): void {
    const gl = this.gl;
    const size = pointSize(this.n, this.camera.half) * (this.canvas.width / this.width);
    this.aim(this.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 8 * this.thin, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colours);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 4 * this.thin, 0);
    const at = (name: string) => gl.getUniformLocation(this.program, name);
    gl.uniform1f(at("size"), size);
    gl.uniform1f(at("round_"), size > 3 ? 1 : 0);
    gl.uniform4f(at("ring"), 0, 0, 0, 0);
    gl.drawArrays(gl.POINTS, 0, Math.ceil(this.n / this.thin));
    if (this.nChosen && this.thin === 1) {
      gl.uniform1f(at("size"), Math.max(size * 1.35, size + 3));
      gl.uniform1f(at("round_"), 1);
      const [r = 0, g = 0, b = 0] = this.look.ring;
      gl.uniform4f(at("ring"), r, g, b, this.nChosen > MANY ? 0.5 : 1); // colours stay to be seen under many rings
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.chosen);
      gl.drawElements(gl.POINTS, this.nChosen, gl.UNSIGNED_INT, 0);
    }
  }

  private paintOver(): void {
    const made: SVGElement[] = this.lines.map(({ from, to, kind }) => {
      const [x1, y1] = this.pixel(this.xy[2 * from]!, this.xy[2 * from + 1]!);
      const [x2, y2] = this.pixel(this.xy[2 * to]!, this.xy[2 * to + 1]!);
      const line = svg("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-width": 1.5, opacity: 0.7 });
      if (kind === "cannot") line.setAttribute("stroke-dasharray", "3 5");
      return line;
    });
    if (this.path.length > 1) {
      const points = this.path.map((p) => p.join(",")).join(" ");
      made.push(svg("polygon", { points, fill: "currentColor", "fill-opacity": 0.12, stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "5 4" }));
    }
    this.over.replaceChildren(...made);
  }

  // Mouse and touch

  private hear(): void {
    const { canvas } = this;
    let from: Corner | null = null;
    let last: Corner = [0, 0];
    let far = false;
    const here = (event: PointerEvent | WheelEvent): Corner => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      from = last = here(event);
      far = false;
      this.path = this.mode === "pan" ? [] : [from];
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = here(event);
      if (from === null) {
        this.listeners.onHover?.(this.pointAt(...now), ...now);
        return;
      }
      far ||= Math.hypot(now[0] - from[0], now[1] - from[1]) > 4;
      if (this.mode === "pan") this.pan(now[0] - last[0], now[1] - last[1]);
      else if (this.mode === "box") this.path = [from, [now[0], from[1]], now, [from[0], now[1]]];
      else if (Math.hypot(now[0] - last[0], now[1] - last[1]) > 3) this.path.push(now);
      else return;
      last = now;
      this.paintSoon();
    });
    const end = (event: PointerEvent, done: boolean) => {
      if (from === null) return;
      const now = here(event);
      const path = this.path;
      from = null;
      this.path = [];
      this.paintSoon();
      if (!done) return;
      this.moving = false;
      if (!far) this.listeners.onClick?.(this.pointAt(...now), event.shiftKey ? "add" : "replace");
      else if (this.mode === "pan") this.listeners.onView?.(this.view, false);
      else if (path.length > 2) {
        const how = event.shiftKey ? "add" : event.altKey ? "subtract" : "replace";
        this.listeners.onSelect?.(thinned(path).map((p) => this.place(...p)), how);
      }
    };
    canvas.addEventListener("pointerup", (event) => end(event, true));
    canvas.addEventListener("pointercancel", (event) => end(event, false));
    canvas.addEventListener("pointerleave", () => this.listeners.onHover?.(null, 0, 0));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...here(event));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      const steps: Record<string, () => void> = {
        ArrowLeft: () => this.pan(60, 0, false),
        ArrowRight: () => this.pan(-60, 0, false),
        ArrowUp: () => this.pan(0, 60, false),
        ArrowDown: () => this.pan(0, -60, false),
        "+": () => this.zoom(1.4),
        "-": () => this.zoom(1 / 1.4),
        "0": () => this.whole(),
      };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      step();
    });
  }
}

/** Pixels across a point: small if there are many, and larger when zoomed in. */
export function pointSize(n: number, half: number): number {
  const base = Math.max(1.5, Math.min(9, 60 / Math.pow(Math.max(n, 1), 0.29)));
  return Math.min(12, base * Math.max(1, Math.pow(1.08 / half, 0.35)));
}

/** At most some hundred corners of a path. */
export function thinned(path: Corner[], most = 400): Corner[] {
  if (path.length <= most) return path;
  const step = path.length / most;
  return Array.from({ length: most }, (_, k) => path[Math.floor(k * step)]!);
}

/** Which boxes, given by their middles, cover none of those before them that are shown. */
export function withoutOverlap(boxes: { at: [number, number]; wide: number; high: number }[]): boolean[] {
  const kept: typeof boxes = [];
  return boxes.map((one) => {
    const isFree = kept.every(
      (other) =>
        Math.abs(one.at[0] - other.at[0]) >= (one.wide + other.wide) / 2 || Math.abs(one.at[1] - other.at[1]) >= (one.high + other.high) / 2,
    );
    if (isFree) kept.push(one);
    return isFree;
  });
}

/** Points in the cells of a grid, to find the nearest one quickly. */
export class PointIndex {
  private readonly side: number;
  private readonly starts: Uint32Array;
  private readonly order: Uint32Array;

  constructor(private readonly xy: Float32Array) {
    const n = xy.length / 2;
    this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 4))));
    this.starts = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(n);
    for (let k = 0; k < n; k++) {
      const cell = this.row(xy[2 * k + 1]!) * this.side + this.row(xy[2 * k]!);
      cells[k] = cell;
      this.starts[cell + 1]!++;
    }
    for (let cell = 0; cell < this.side * this.side; cell++) this.starts[cell + 1]! += this.starts[cell]!;
    const next = this.starts.slice();
    this.order = new Uint32Array(n);
    for (let k = 0; k < n; k++) this.order[next[cells[k]!]!++] = k;
  }

  private row(value: number): number {
    return Math.max(0, Math.min(this.side - 1, Math.floor(((value + 1) / 2) * this.side)));
  }

  nearest(x: number, y: number, reach: number): number | null {
    let best: number | null = null;
    let least = reach * reach;
    for (let b = this.row(y - reach); b <= this.row(y + reach); b++) {
      for (let a = this.row(x - reach); a <= this.row(x + reach); a++) {
        const cell = b * this.side + a;
        for (let at = this.starts[cell]!; at < this.starts[cell + 1]!; at++) {
          const k = this.order[at]!;
          const dx = this.xy[2 * k]! - x;
          const dy = this.xy[2 * k + 1]! - y;
          const far = dx * dx + dy * dy;
          if (far < least) [best, least] = [k, far];
        }
      }
    }
    return best;
  }
}

function svg(name: string, values: Record<string, string | number>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(values)) made.setAttribute(key, String(value));
  return made;
}

function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "The map cannot be drawn.");
  return program;
}
