// Shows numbers under the pointer, hides lines, sorts tables. The page reads without it.
"use strict";
document.documentElement.classList.add("js");
const tip = document.body.appendChild(document.createElement("div"));
const rule = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
rule.className = "rule";
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function hide() {
  tip.style.display = rule.style.display = "none";
}

function place(event) {
  tip.style.display = "block";
  const room = document.documentElement.clientWidth;
  const past = event.clientX + 16 + tip.offsetWidth > room;
  const left = past ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, event.clientY - 20)}px`;
}

// titles of parts of charts are shown at once, and not by the browser a second later
for (const title of document.querySelectorAll("figure svg g > title")) {
  const part = title.parentNode;
  const text = title.textContent;
  part.setAttribute("aria-label", text);
  title.remove();
  part.addEventListener("pointermove", (event) => { tip.replaceChildren(text); place(event); });
  part.addEventListener("pointerleave", hide);
}

for (const figure of document.querySelectorAll("figure[data-hover]")) {
  const chart = JSON.parse(figure.dataset.hover);
  const hidden = new Set();
  for (const button of figure.querySelectorAll("button.key")) {
    button.addEventListener("click", () => {
      const colour = button.dataset.colour;
      const off = !hidden.delete(colour) && hidden.add(colour);
      button.setAttribute("aria-pressed", String(!off));
      for (const part of figure.querySelectorAll(`svg [stroke="${colour}"], svg [fill="${colour}"]`)) {
        part.style.display = off ? "none" : "";
      }
    });
  }
  figure.querySelectorAll(".sheet").forEach((sheet, at) => {
    const svg = sheet.querySelector("svg");
    const nearest = (points, share) => points.reduce((best, point) =>
      Math.abs(point[0] - share) < Math.abs(best[0] - share) ? point : best);
    sheet.addEventListener("pointerleave", hide);
    sheet.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width; // pixels in a point
      const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
      const holds = ([l, t, r, b]) => x >= l && x <= r && y >= t && y <= b;
      const panel = chart.panels.find(({ frames }) => holds(frames[at]));
      if (!panel) return hide();
      const [left, top, right, bottom] = panel.frames[at];
      const seen = panel.series.filter(([, colour, points]) => !hidden.has(colour) && points.length);
      const rows = seen.map(([label, colour, points]) =>
        [label, colour, nearest(points, (x - left) / (right - left))]);
      if (!rows.length) return hide();
      rows.sort((a, b) => b[2][2] - a[2][2]);
      const where = rows[0][2][1];
      const named = typeof where === "string";
      tip.replaceChildren(`${chart.x} ${named ? where : (where < 1e3 ? number : whole).format(where)}`);
      for (const [label, colour, [, , value, low, high]] of rows) {
        const line = tip.appendChild(document.createElement("div"));
        const ends = low === undefined ? "" : ` (${number.format(low)}..${number.format(high)})`;
        line.append(document.createElement("i"), `${label}  ${number.format(value)} ${panel.unit}${ends}`);
        line.firstChild.style.setProperty("--key", `var(--c${colour.slice(1)})`);
      }
      place(event);
      const at0 = left + rows[0][2][0] * (right - left);
      Object.assign(rule.style, { display: "block", left: `${box.left + at0 * scale}px`,
        top: `${box.top + top * scale}px`, height: `${(bottom - top) * scale}px` });
    });
  });
}

for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  [...table.querySelectorAll("th")].forEach((head, column) => {
    if (!body.querySelector("td[data-sort]") || !head.textContent) return;
    head.tabIndex = 0;
    head.classList.add("sorts");
    const sort = () => {
      const down = head.ariaSort !== "descending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
      const order = (a, b) => {
        const [one, other] = [key(a), key(b)];
        const both = one !== "" && other !== "" && !isNaN(one) && !isNaN(other);
        return both ? one - other : one.localeCompare(other);
      };
      body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter") sort();
    });
  });
}

addEventListener("scroll", hide, { passive: true });
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
