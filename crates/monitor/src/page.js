"use strict";
// the colours of the report, light and dark, are in the style
const colour = (at) => "var(--series-" + (at % 12) + ")";
const element = (id) => document.getElementById(id);
const whole = (number) => Math.round(number).toLocaleString("en-US");

const size = (bytes) => scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);
// what may be too many for its card
const many = (count) => (count < 1e8 ? whole(count) : scaled(count, ["", "k", "M", "G", "T"]));

function scaled(count, units) {
  let at = 0;
  while (count >= 999.5 && at < units.length - 1) {
    count /= 1000;
    at += 1;
  }
  return count.toFixed(at === 0 || count >= 99.95 ? 0 : count >= 9.995 ? 1 : 2) + " " + units[at];
}

function time(seconds) {
  if (seconds < 99.5) return seconds.toFixed(seconds < 9.95 ? 1 : 0) + " s";
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
}

function show(status) {
  const share = status.total_bytes > 0 ? Math.min(1, status.bytes / status.total_bytes) : 0;
  element("bar").style.width = 100 * share + "%";
  element("progress").textContent =
    (100 * share).toFixed(1) + " % · " + size(status.bytes) + " of " + size(status.total_bytes) +
    " · " + whole(status.blocks) + " blocks";
  const texts = {
    number: whole(status.number),
    committed: status.committed === null ? "nothing stored yet" : whole(status.committed),
    blocks_per_s: whole(status.blocks_per_s),
    bytes_per_s: status.bytes_per_s === null ? "-" : size(status.bytes_per_s),
    eta: status.eta === null ? "-" : time(status.eta.median_s),
    elapsed: time(status.elapsed_s),
    cpu: time(status.cpu_s),
    memory: size(status.memory_bytes),
    disk_read: size(status.disk_read_bytes),
    disk_written: size(status.disk_written_bytes),
  };
  for (const [id, text] of Object.entries(texts)) element(id).textContent = text;
  execution(status.execution);
  element("eta").title = status.eta === null ? "" :
    "from " + time(status.eta.low_s) + " to " + time(status.eta.high_s);
  following(status);
  stages(status);
  timeline(status);
}

// how far the store is from an archive that grows
function following(status) {
  const all = status.following;
  element("following").hidden = all === null;
  if (all === null) return;
  element("lag").textContent = time(all.lag_s);
  element("rounds").textContent = whole(all.rounds);
  const pending = status.known === null ? null : Math.max(0, status.known - (status.committed ?? 0));
  element("pending").textContent = pending === null ? "-" : whole(pending);
  element("waiting").replaceChildren(...all.waiting.map((text) => texted("li", "waits: " + text)));
}

function texted(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function brief(seconds) {
  if (seconds < 0.001) return (1e6 * seconds).toFixed(0) + " µs";
  return seconds < 1 ? (1e3 * seconds).toFixed(seconds < 0.01 ? 2 : 0) + " ms" : time(seconds);
}

// what executed blocks did, where there are any
function execution(all) {
  element("execution").hidden = all === null;
  if (all === null) return;
  const blocks = all.all.counts.reduce((sum, count) => sum + count, 0);
  const asked = all.slot_reads + all.slot_hits;
  const speculations = all.speculations_committed + all.speculations_aborted;
  const recent = all.recent;
  const texts = {
    mgas_per_s: all.mgas_per_s.toFixed(all.mgas_per_s < 99.95 ? 1 : 0),
    gas: many(all.gas),
    transactions: many(all.transactions),
    block_mean: blocks === 0 ? "-" : brief(all.all.busy_s / blocks),
    p95: recent.blocks === 0 ? "-" : brief(recent.p95_s),
    p99: recent.blocks === 0 ? "-" : brief(recent.p99_s),
    slowest: brief(all.slowest_s) + " · " + whole(all.slowest),
    account_reads: many(all.account_reads),
    slot_reads: many(all.slot_reads),
    slot_hits: asked === 0 ? "-" : ((100 * all.slot_hits) / asked).toFixed(0) + " %",
    speculation: speculations === 0 ? "-" : ((100 * all.speculations_committed) / speculations).toFixed(0) + " %",
  };
  for (const [id, text] of Object.entries(texts)) element(id).textContent = text;
}

function stages(status) {
  const all = status.stages.reduce((sum, stage) => sum + stage.busy_s, 0) || 1;
  const rows = status.stages.map((stage, at) => {
    const row = document.createElement("div");
    row.className = "stage";
    const name = document.createElement("span");
    name.textContent = stage.name;
    const track = document.createElement("div");
    track.className = "track";
    const bar = document.createElement("div");
    bar.style.width = (100 * stage.busy_s) / all + "%";
    bar.style.background = colour(at);
    track.append(bar);
    const value = document.createElement("span");
    value.textContent = time(stage.busy_s) + " · " + ((100 * stage.busy_s) / all).toFixed(0) + " %";
    row.append(name, track, value);
    return row;
  });
  element("stages").replaceChildren(...rows);
}

// stacked areas: how many threads were busy in each stage
function timeline(status) {
  const count = Math.max(0, ...status.stages.map((stage) => stage.slices.length));
  if (count < 2) return;
  const most = threadMarks(Math.max(status.threads, 1))[0] * status.slice_s;
  const base = new Array(count).fill(0);
  const areas = status.stages.map((stage, at) => {
    const below = base.slice();
    for (let i = 0; i < count; i += 1) base[i] += (stage.slices[i] || 0) / most;
    const x = (i) => ((1000 * i) / (count - 1)).toFixed(1);
    const y = (share) => (240 * (1 - Math.min(1, share))).toFixed(1);
    const upper = base.map((share, i) => x(i) + "," + y(share));
    const lower = below.map((share, i) => x(i) + "," + y(share)).reverse();
    const area = document.createElementNS("http://www.w3.org/2000/svg", "polygon");
    area.setAttribute("points", upper.concat(lower).join(" "));
    area.style.fill = colour(at);
    return area;
  });
  const marks = threadMarks(Math.max(status.threads, 1));
  const lines = marks.map((number) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const y = 240 * (1 - number / marks[0]);
    for (const [name, value] of [["x1", 0], ["x2", 1000], ["y1", y], ["y2", y]]) line.setAttribute(name, value);
    return line;
  });
  element("timeline").replaceChildren(...areas, ...lines);
  element("threads").replaceChildren(...marks.map((number) => texted("span", whole(number))));
  const end = count * status.slice_s;
  element("times").replaceChildren(...[0, end / 2, end].map((at) => texted("span", time(at))));
  element("legend").replaceChildren(...status.stages.map((stage, at) => {
    const entry = texted("span", stage.name);
    entry.style.setProperty("--ink-of", colour(at));
    return entry;
  }));
  element("plot").hidden = false;
  element("early").hidden = true;
}

// whole numbers of threads from the top of the scale to 0, at most five
function threadMarks(threads) {
  const step = Math.ceil(threads / 4);
  const top = step * Math.ceil(threads / step);
  return Array.from({ length: top / step + 1 }, (_, at) => top - at * step);
}

async function renew() {
  try {
    const answer = await fetch("status.json");
    show(await answer.json());
    setTimeout(renew, 1000);
  } catch {
    element("gone").hidden = false;
  }
}

show(JSON.parse(element("status").textContent));
setTimeout(renew, 1000);
