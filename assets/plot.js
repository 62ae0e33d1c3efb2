// The plot component: a Plotly figure that is updated in place, stepped by keys, clicked cell by cell, and exported.
//
// It runs in two places: inside the app (a Streamlit component calls `render`) and inside an exported page
// (`standalone`). A figure that has steps carries them in layout.meta; its frames bear the steps' names.
// Words from users enter the page as text only, never as markup.

const MOVE_MS = 650;
const HOLD_MS = 2400;
const SOON_MS = 300; // from pressing play to the first movement
const SPEEDS = [0.5, 1, 2];
const MANY = 16; // stops, from which their dots are small and only the one of now has its word
const REST_MS = 350; // standing still for so long, the step is what the visitor wants to see
const NARROW_BELOW = 700;
const ASIDE_PX = 13.5; // size of the notes beside the figure; they shrink a little before they leave the sheet
const LEAST = 0.7; // of its size in full width: as small as a sheet becomes so that it and its words are seen together
const SCRIPT_END = "</" + "script>"; // in one piece it would end this very script in an exported page

const instances = new WeakMap();
let stepper = null; // the plot that the keys move: the last one mounted that has steps
let plotlyLoading = null;

// --- Streamlit's side -----------------------------------------------------------------------------------------

/** Called on every run of the page: mounts once, then updates in place. */
export function render({ parentElement, data, setStateValue, setTriggerValue }) {
  let plot = instances.get(parentElement);
  if (!plot) {
    plot = new Plot(parentElement, {
      pick: (value) => setTriggerValue("pick", value),
      room: (value) => setStateValue("room", value),
      rest: (value) => setStateValue("step", value),
      inApp: true,
    });
    instances.set(parentElement, plot);
  }
  plot.show(JSON.parse(new TextDecoder().decode(data)));
}

/** Called when the component goes, and on some runs when it does not: the page tells, a moment later. */
export function dispose(parentElement) {
  setTimeout(() => {
    if (parentElement.isConnected) return;
    instances.get(parentElement)?.destroy();
    instances.delete(parentElement);
  }, 0);
}

/** The exported page: no server, nothing to report to. */
export function standalone(root, data) {
  new Plot(root, { pick: () => {}, room: () => {}, rest: () => {}, inApp: false }).show(data);
}

/** Plotly, fetched once a page. */
export function loadPlotly(base) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  plotlyLoading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${base}/plotly.min.js`;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly.min.js could not be loaded"));
    document.head.append(script);
  });
  return plotlyLoading;
}

// --- small things ---------------------------------------------------------------------------------------------

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function button(className, label, onClick) {
  const node = element("button", className);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.title = label;
  node.addEventListener("click", (event) => {
    if (event.detail) node.blur(); // a mouse needs no focus here, and space shall play
    onClick(event);
  });
  return node;
}

const ICONS = {
  play: "M4 2.5v11l9.5-5.5z",
  pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z",
  back: "M10.5 2.5v11L4 8z",
  forward: "M5.5 2.5v11L12 8z",
};

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** `target` with `change` laid over it; arrays and typed arrays are replaced whole. */
function overlay(target, change) {
  if (change === null || typeof change !== "object" || Array.isArray(change) || "bdata" in change) return change;
  const base = target && typeof target === "object" && !Array.isArray(target) ? target : {};
  const result = { ...base };
  for (const [name, value] of Object.entries(change)) result[name] = overlay(base[name], value);
  return result;
}

/** The figure's traces as they stand at a step. */
function tracesAt(figure, name) {
  const traces = figure.data.slice();
  const frame = (figure.frames || []).find((candidate) => candidate.name === name);
  if (frame) frame.traces.forEach((index, i) => (traces[index] = overlay(traces[index], frame.data[i])));
  return traces;
}

/**
 * The frames, with every heat map taking part unchanged. Plotly removes from the sheet each kind of trace that has no
 * part in a transition, and lets only kinds that it calls animatable take part.
 */
function withHeatMaps(figure) {
  const maps = figure.data.flatMap((trace, index) => (trace.type === "heatmap" ? [index] : []));
  return (figure.frames || []).map((frame) => ({
    ...frame,
    traces: [...frame.traces, ...maps],
    data: [...frame.data, ...maps.map(() => ({}))],
  }));
}

/** Which of the spans between rising edges holds a value; -1 for none. */
function between(edges, value) {
  return edges.findIndex((edge, index) => value >= edge && value < edges[index + 1]);
}

/** How far down its page a node begins, wherever the page is scrolled to. */
function fromTop(node) {
  let top = 0;
  for (let at = node; at; at = at.offsetParent) top += at.offsetTop;
  return top;
}

const still = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Whether a key belongs to what has the focus: a text field, or a control that uses arrows itself. */
function typing(target) {
  if (!(target instanceof Element)) return false;
  if (target.closest("textarea, select, [contenteditable=''], [contenteditable='true'], [role=textbox], [role=combobox], [role=listbox], [role=menu], [role=grid], [role=dialog] input, [data-testid=stDataFrame]")) return true;
  const input = target.closest("input");
  return Boolean(input) && !["button", "checkbox", "radio", "submit", "reset"].includes(input.type);
}

function onKey(event) {
  if (!stepper?.root.isConnected || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const presses = event.target instanceof Element && event.target.closest("button, a, summary, label, [role=radio], [role=checkbox]");
  if (event.key === " " && presses) return;
  if (stepper.key(event.key)) event.preventDefault();
}

// --- one plot -------------------------------------------------------------------------------------------------

class Plot {
  constructor(root, host) {
    this.host = host;
    this.root = element("section", "atlas-plot");
    this.stage = element("div", "ap-stage");
    this.scaler = element("div", "ap-scaler");
    this.canvas = element("div", "ap-figure");
    this.aside = element("aside", "ap-aside");
    this.words = element("div", "ap-words");
    this.transport = element("div", "ap-transport");
    this.tools = element("div", "ap-tools");
    this.anchor = element("div", "ap-anchor");
    this.scaler.append(this.canvas, this.aside, this.anchor);
    this.stage.append(this.scaler);
    this.dock = element("div", "ap-dock");
    this.dock.append(this.words, this.transport);
    this.root.append(this.stage, this.dock, this.tools);
    root.append(this.root);
    this.step = 0;
    this.speed = 1;
    this.refit = () => this.fit();
    this.resizing = new ResizeObserver(() => requestAnimationFrame(this.refit));
    // What appears above the figure moves it without a change of its size; some ancestor grows by it.
    for (let node = root; node; node = node.parentElement) this.resizing.observe(node);
    window.addEventListener("resize", this.refit);
    this.canvas.addEventListener("click", (event) => this.click(event));
  }

  get steps() {
    return this.data?.figure.layout.meta?.steps || [];
  }

  /** Milliseconds that a step is shown, and that the way to it takes. */
  get pace() {
    return this.data?.figure.layout.meta?.pace || { hold: HOLD_MS, move: MOVE_MS };
  }

  /** Takes new data: same node, same step, no flash. */
  async show(data) {
    const first = !this.data;
    const same = data.stamp === this.root.dataset.stamp; // drawn, not only asked for: that may still be on its way
    const other = !first && data.rests && data.name !== this.data.name; // of which the page has chosen a step
    this.data = data;
    if (first || other) this.step = this.indexOf(data.step);
    this.step = Math.min(this.step, Math.max(0, this.steps.length - 1));
    if (other) {
      this.halt();
      this.told = null;
    }
    this.dress();
    if (same) {
      this.fit();
      return this.writeUrl();
    }
    const Plotly = await loadPlotly(data.base);
    if (this.data !== data) return;
    const { figure } = data;
    delete this.root.dataset.stamp;
    await Plotly.react(this.canvas, {
      data: tracesAt(figure, this.steps[this.step]?.name),
      layout: { ...figure.layout, sliders: undefined, updatemenus: undefined },
      frames: withHeatMaps(figure),
      config: { displayModeBar: false, responsive: false, doubleClick: false },
    });
    for (const trace of this.canvas._fullData) trace._module.animatable = true; // see withHeatMaps
    this.fit();
    this.aim();
    this.root.classList.add("ap-ready");
    this.root.dataset.stamp = data.stamp;
    if (!this.started) this.start(); // the first data may have been overtaken before they were drawn
  }

  start() {
    this.started = true;
    if (!this.steps.length) return;
    stepper = this;
    if (this.host.inApp && window.navigation) {
      this.rewrite = () => this.writeUrl();
      window.navigation.addEventListener("currententrychange", this.rewrite);
    }
    this.writeUrl();
    if (this.data.autoplay && !still()) this.play();
  }

  destroy() {
    this.pause();
    this.resizing.disconnect();
    window.removeEventListener("resize", this.refit);
    if (this.rewrite) window.navigation.removeEventListener("currententrychange", this.rewrite);
    if (stepper === this) stepper = null;
    window.Plotly?.purge(this.canvas);
  }

  // --- what stands around the figure

  dress() {
    const { data } = this;
    for (const [name, color] of Object.entries(data.palette)) this.root.style.setProperty(`--ap-${name}`, color);
    this.root.dataset.format = data.figure.layout.meta?.format || "plain";
    this.root.setAttribute("aria-label", data.label);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", data.label);
    this.dressAside();
    if (this.steps.length) {
      if (this.transportFor !== this.signature()) this.buildTransport();
      this.speak();
    }
    this.buildTools();
  }

  signature() {
    return JSON.stringify([this.steps.map((step) => [step.name, step.short]), this.data.words]);
  }

  dressAside() {
    const { aside } = this.data;
    this.aside.replaceChildren();
    if (!aside) return;
    this.aside.append(element("h3", "", aside.heading));
    for (const line of aside.lines) this.aside.append(element("p", "", line));
  }

  buildTransport() {
    const { words } = this.data;
    this.transportFor = this.signature();
    this.playButton = button("ap-play", words.play, () => this.toggle());
    const back = button("ap-step", words.back, () => this.move(-1));
    back.append(icon("back"));
    const forward = button("ap-step", words.forward, () => this.move(1));
    forward.append(icon("forward"));
    this.speedButton = button("ap-speed", words.speed, () => this.nextSpeed());
    this.track = element("div", "ap-track");
    this.track.tabIndex = 0;
    this.track.setAttribute("role", "slider");
    this.track.setAttribute("aria-label", words.beats);
    this.track.setAttribute("aria-valuemin", "1");
    this.track.setAttribute("aria-valuemax", String(this.beats().length));
    this.dots = this.beats().map((step) => {
      const dot = element("span", "ap-dot");
      dot.append(element("i"), element("b", "", step.short));
      return dot;
    });
    this.track.append(...this.dots);
    this.track.style.setProperty("--ap-stops", String(this.dots.length));
    this.track.classList.toggle("ap-many", this.dots.length > MANY);
    this.track.addEventListener("pointerdown", (event) => this.drag(event));
    this.transport.replaceChildren(back, this.playButton, forward, this.speedButton, this.track, element("span", "ap-hint", words.hint));
    this.showPlaying();
    this.showSpeed();
  }

  /** The last step of each beat: where a jump lands. */
  beats() {
    return this.steps.filter((step, index) => this.steps[index + 1]?.beat !== step.beat);
  }

  drag(event) {
    const jump = (at) => {
      const box = this.track.getBoundingClientRect();
      const beats = this.beats();
      const index = Math.floor(((at.clientX - box.left) / box.width) * beats.length);
      this.go(this.steps.indexOf(beats[Math.max(0, Math.min(beats.length - 1, index))]));
    };
    this.pause();
    this.track.setPointerCapture(event.pointerId);
    this.track.onpointermove = jump;
    this.track.onpointerup = () => (this.track.onpointermove = null);
    jump(event);
  }

  /** Title, sentence and equation of a step. */
  caption(step) {
    const title = element("h3", "ap-title", step.heading || `${step.beat} · ${step.title}`);
    const sentence = element("p", "ap-sentence", step.sentence);
    const equation = element("p", "ap-equation");
    for (const [text, role] of step.equation) equation.append(element("span", role && `ap-${role}`, text));
    const talk = element("div", "ap-said");
    talk.setAttribute("aria-live", "polite");
    talk.append(title, sentence);
    return [talk, equation];
  }

  /** Caption, slider and source line of the step. */
  speak() {
    const step = this.steps[this.step];
    this.words.replaceChildren(...this.caption(step));
    const now = this.beats().findIndex((beat) => beat.beat === step.beat);
    this.dots.forEach((dot, index) => {
      dot.classList.toggle("ap-done", index < now);
      dot.classList.toggle("ap-now", index === now);
    });
    this.track.style.setProperty("--ap-progress", String(this.dots.length > 1 ? now / (this.dots.length - 1) : 0));
    this.track.setAttribute("aria-valuenow", String(step.beat));
    this.track.setAttribute("aria-valuetext", step.heading || `${step.beat}: ${step.title}`);
    this.root.dataset.step = step.name;
    if (this.host.inApp) document.documentElement.dataset.atlasTaps = step.taps.join(" "); // plot.css lights their source
  }

  // --- stepping

  indexOf(name) {
    const wanted = String(name ?? "");
    const exact = this.steps.findIndex((step) => step.name === wanted);
    return exact >= 0 ? exact : Math.max(0, this.steps.findIndex((step) => step.name === wanted.replace(/[ab]$/, "")));
  }

  key(name) {
    const last = this.steps.length - 1;
    if (name === "ArrowRight" || name === "PageDown") this.move(1);
    else if (name === "ArrowLeft" || name === "PageUp") this.move(-1);
    else if (name === "Home") this.go(0);
    else if (name === "End") this.go(last);
    else if (name === " ") this.toggle();
    else if (/^[0-9]$/.test(name)) this.go(this.indexOf(name === "0" ? "10" : name));
    else return false;
    if (name !== " ") this.pause();
    return true;
  }

  move(by) {
    this.go(Math.max(0, Math.min(this.steps.length - 1, this.step + by)));
  }

  go(index) {
    if (index === this.step || index < 0) return;
    this.step = index;
    this.speak();
    this.writeUrl();
    if (!this.data.autoplay) this.reveal(); // what moves by itself does not move the page
    this.tell();
    const duration = still() ? 0 : this.pace.move / Math.max(1, this.speed);
    window.Plotly?.animate(this.canvas, [this.steps[index].name], {
      mode: "immediate",
      transition: { duration, easing: "cubic-in-out" },
      frame: { duration, redraw: false },
    }).catch(() => {}); // a newer step took over
  }

  /** Brings what the step is about into view, clear of the words at the bottom; does nothing when it is. */
  reveal() {
    const [top, bottom] = this.steps[this.step].span;
    Object.assign(this.anchor.style, { top: `${top}px`, height: `${bottom - top}px` });
    this.anchor.style.scrollMarginBottom = `${this.dock.offsetHeight + 10}px`;
    this.anchor.scrollIntoView({ block: "nearest", inline: "nearest", behavior: still() ? "auto" : "smooth" });
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    const { hold, move } = this.pace;
    const again = this.step === this.steps.length - 1;
    if (again) this.go(0);
    const tick = (after) => {
      this.timer = setTimeout(() => {
        if (!this.root.isConnected) return this.destroy();
        if (this.step === this.steps.length - 1 && !this.data.autoplay) return this.pause();
        this.go((this.step + 1) % this.steps.length);
        tick(hold + move);
      }, after / this.speed);
    };
    tick(again ? hold + move : SOON_MS);
    this.showPlaying();
  }

  pause() {
    this.halt();
    this.tell();
  }

  /** Plays no more, and tells nothing of the step at which it stands. */
  halt() {
    clearTimeout(this.timer);
    clearTimeout(this.telling);
    this.timer = null;
    this.showPlaying();
  }

  /** Tells the page the step at which the figure has come to rest, if the page wants to know. */
  tell() {
    clearTimeout(this.telling);
    if (!this.data?.rests || this.timer) return;
    this.telling = setTimeout(() => {
      const name = this.steps[this.step]?.name;
      if (this.canvas.isConnected && !this.timer && name !== this.told) this.host.rest((this.told = name));
    }, REST_MS);
  }

  showPlaying() {
    if (!this.playButton) return;
    const { words } = this.data;
    const label = this.timer ? words.pause : words.play;
    this.playButton.replaceChildren(icon(this.timer ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
  }

  nextSpeed() {
    this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
    this.showSpeed();
  }

  showSpeed() {
    this.speedButton.textContent = `${this.speed}×`;
    this.speedButton.setAttribute("aria-label", `${this.data.words.speed}: ${this.speed}×`);
  }

  /** The link always names the beat on screen; the server's own writing of the link leaves it out. */
  writeUrl() {
    if (!this.host.inApp || !this.steps.length || !this.data.link || !this.canvas.isConnected) return;
    const url = new URL(window.location.href);
    const name = this.steps[this.step].name;
    if (url.searchParams.get("beat") === name) return;
    url.searchParams.set("beat", name);
    window.history.replaceState(window.history.state, "", url);
  }

  // --- room and clicks

  /** Scales the sheet to the room it has; asks for another format when the room is a phone's, or no longer is. */
  fit() {
    const room = this.stage.clientWidth;
    const layout = this.data?.figure.layout;
    if (!room || !layout) return;
    const wanted = room < NARROW_BELOW ? "narrow" : "wide";
    if (this.data.room && wanted !== this.data.room && this.asked !== wanted) {
      this.asked = wanted;
      this.host.room(wanted);
    }
    const { meta } = layout;
    this.scale = meta?.scroll ? 1 : this.together(Math.min(2, room / layout.width), layout.height);
    this.scaler.style.transform = `scale(${this.scale})`;
    this.scaler.style.width = `${layout.width}px`;
    this.stage.style.height = `${layout.height * this.scale}px`;
    const scrolls = layout.width * this.scale > room + 1;
    this.stage.classList.toggle("ap-scrolls", scrolls);
    if (scrolls) this.stage.tabIndex = 0; // what scrolls can be scrolled by keys
    else this.stage.removeAttribute("tabindex");
    const box = meta?.aside;
    if (meta?.scroll || !box) this.root.insertBefore(this.aside, this.tools);
    else {
      this.scaler.append(this.aside);
      const below = meta.matrix.ys.at(-1) + 14;
      Object.assign(this.aside.style, { left: `${box[0]}px`, top: `${below}px`, width: `${box[2] - box[0]}px` });
      for (let size = ASIDE_PX; size >= ASIDE_PX - 3; size -= 0.5) {
        this.aside.style.fontSize = `${size}px`;
        if (below + this.aside.offsetHeight <= layout.height) break;
      }
    }
  }

  /** Moves a sheet that is wider than its room until the column in focus is seen. */
  aim() {
    const { lit } = this.data.figure.layout.meta || {};
    if (!lit || !this.stage.classList.contains("ap-scrolls")) return;
    const { scrollLeft, clientWidth } = this.stage;
    const seen = lit[0] >= scrollLeft && lit[1] <= scrollLeft + clientWidth;
    if (!seen) this.stage.scrollLeft = (lit[0] + lit[1] - clientWidth) / 2;
  }

  /** `scale`, or what of it lets the sheet stand on one screen with the words of every step; not less than LEAST of it. */
  together(scale, height) {
    if (!this.steps.length) return scale;
    const room = window.innerHeight - fromTop(this.stage) - this.tallest();
    return room < LEAST * scale * height ? scale : Math.min(scale, room / height);
  }

  /** Height of what stands below the sheet at the step with most to say, so that the sheet is one size at all of them. */
  tallest() {
    const { stamp } = this.data;
    const width = this.dock.clientWidth;
    if (this.measured?.stamp === stamp && this.measured.width === width) return this.measured.height;
    const trial = element("div", "ap-words ap-trial");
    for (const step of this.steps) {
      const words = element("div");
      words.append(...this.caption(step));
      trial.append(words);
    }
    this.words.after(trial);
    const height = this.dock.offsetHeight + trial.offsetHeight - this.words.offsetHeight;
    trial.remove();
    this.measured = { stamp, width, height };
    return height;
  }

  /** What a click means: a tile its number, a cell of the matrix query and key, a column of the ledger its key. */
  click(event) {
    const { meta } = this.data.figure.layout;
    const box = this.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / this.scale;
    const y = (event.clientY - box.top) / this.scale;
    const tile = (meta?.tiles || []).findIndex(([x0, y0, x1, y1]) => x >= x0 && x < x1 && y >= y0 && y < y1);
    if (tile >= 0) return this.host.pick({ tile });
    if (!meta?.columns) return;
    const shown = meta.aside || meta.whole || this.steps[this.step]?.beat === 9;
    const query = shown ? between(meta.matrix.ys, y) : -1;
    const key = shown ? between(meta.matrix.xs, x) : -1;
    if (query >= 0 && key >= 0) return this.host.pick({ query, key });
    const column = meta.columns.find(([, x0, x1]) => x >= x0 && x < x1);
    if (column && y < meta.ledger_bottom) this.host.pick({ key: column[0] });
  }

  // --- export

  buildTools() {
    const { words } = this.data;
    if (this.toolsFor === words.svg + words.html) return;
    this.toolsFor = words.svg + words.html;
    const tool = (text, label, run) => {
      const node = button("ap-tool", label, () => {
        told.textContent = "";
        run().catch((error) => {
          console.error(error);
          told.textContent = words.failed;
        });
      });
      node.textContent = text;
      return node;
    };
    const told = element("span", "ap-told");
    told.setAttribute("role", "status");
    this.tools.replaceChildren(
      told,
      tool("PNG", words.png, () => this.savePng()),
      tool("SVG", words.svg, () => this.saveSvg()),
      tool("HTML", words.html, () => this.saveHtml()),
    );
  }

  /** The sheet as SVG text, with a caption of the step below it. */
  async svg() {
    const { layout } = this.data.figure;
    const step = this.steps[this.step];
    const size = layout.meta?.format === "talk" ? 24 : 13;
    const margin = { l: 20, r: 20, t: 16, b: step ? size * 5 : 16 };
    const width = layout.width + margin.l + margin.r;
    const height = layout.height + margin.t + margin.b;
    const said = step && [`<b>${escaped(step.title)}</b>  ${escaped(step.sentence)}`, escaped(step.equation.map(([part]) => part).join(""))];
    const caption = step && {
      text: [...said, escaped(this.data.label)].join("<br>"),
      xref: "paper", yref: "paper", x: 0, y: 0, xanchor: "left", yanchor: "top", yshift: -size * 0.6, align: "left",
      showarrow: false, font: { size, color: this.data.palette.ink },
    };
    const annotations = [...(layout.annotations || []), ...(caption ? [caption] : [])];
    const url = await window.Plotly.toImage(
      { data: tracesAt(this.data.figure, step?.name), layout: { ...layout, width, height, margin, annotations } },
      { format: "svg", width, height },
    );
    const text = decodeURIComponent(url.slice(url.indexOf(",") + 1));
    return text.replace(/(<svg[^>]*>)/, "$1<style>path.point{stroke-linejoin:round}</style>");
  }

  async saveSvg() {
    save(new Blob([await this.svg()], { type: "image/svg+xml" }), `${this.data.name}.svg`);
  }

  async savePng() {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await this.svg())}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, `${this.data.name}.png`), "image/png");
  }

  /** One page that holds everything: Plotly, this file, its styles and the figure. It plays without a network. */
  async saveHtml() {
    const read = async (name) => (await fetch(`${this.data.base}/${name}`)).text();
    const [plotly, script, style] = await Promise.all([read("plotly.min.js"), read("plot.js"), read("plot.css")]);
    const data = { ...this.data, step: this.steps[this.step]?.name, room: null, autoplay: false };
    const title = element("title", "", this.data.label).outerHTML;
    const run = `${inScript(script)}\nstandalone(document.getElementById("plot"), ${inScript(JSON.stringify(data))});`;
    const page = [
      `<!doctype html><html lang="${this.data.lang}"><head><meta charset="utf-8">`,
      `<meta name="viewport" content="width=device-width, initial-scale=1">${title}`,
      `<style>${style}\nbody { margin: 24px; background: ${this.data.palette.ground}; }</style></head>`,
      `<body><div id="plot"></div><script>${inScript(plotly)}${SCRIPT_END}`,
      `<script type="module">${run}${SCRIPT_END}</body></html>`,
    ].join("\n");
    save(new Blob([page], { type: "text/html" }), `${this.data.name}.html`);
  }
}

/** Code or JSON that may stand between script tags: what would end the script, or hide its end, is broken up. */
function inScript(code) {
  return code.replace(/<(?=\/script|!--)/gi, "\\x3c").replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029");
}

/** Text that stands for itself inside Plotly's labels. */
function escaped(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function save(blob, name) {
  const link = element("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

document.addEventListener("keydown", onKey);
