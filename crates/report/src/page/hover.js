// Shows values under the pointer and lets lines be hidden. The page reads without it.
"use strict";
document.documentElement.classList.add("js");
for (const figure of document.querySelectorAll("figure[data-hover]")) {
  const chart = JSON.parse(figure.dataset.hover);
  const sheet = figure.querySelector(".sheet");
  const svg = sheet.querySelector("svg");
  const hidden = new Set();
  const [tip, rule] = ["tip", "rule"].map((className) =>
    sheet.appendChild(Object.assign(document.createElement("div"), { className })));
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

  for (const button of figure.querySelectorAll(".keys button")) {
    button.addEventListener("click", () => {
      const place = Number(button.dataset.place);
      const off = !hidden.delete(place) && hidden.add(place);
      button.setAttribute("aria-pressed", String(!off));
      const colour = button.dataset.colour;
      for (const part of svg.querySelectorAll(`[stroke="${colour}"], [fill="${colour}"]`)) {
        part.style.display = off ? "none" : "";
      }
    });
  }

  function hide() {
    tip.style.display = rule.style.display = "none";
  }

  function nearest(points, x) {
    let best = points[0];
    for (const point of points) {
      if (Math.abs(point[0] - x) < Math.abs(best[0] - x)) best = point;
    }
    return best;
  }

  function show(event) {
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width; // pixels in a point
    const x = (event.clientX - box.left) / scale, y = (event.clientY - box.top) / scale;
    const holds = ([l, t, r, b]) => x >= l && x <= r && y >= t && y <= b;
    const panel = chart.panels.find(({ frame }) => holds(frame));
    if (!panel) return hide();
    const [left, top, right, bottom] = panel.frame;
    const block = chart.x[0] + (x - left) / (right - left) * (chart.x[1] - chart.x[0]);
    const seen = panel.series.filter(([, place, points]) => !hidden.has(place) && points.length);
    const rows = seen.map(([label, place, points]) => [label, place, nearest(points, block)]);
    if (!rows.length) return hide();
    rows.sort((a, b) => b[2][1] - a[2][1]);
    tip.replaceChildren(`block ${whole.format(rows[0][2][0])}`);
    for (const [label, place, [, value]] of rows) {
      const line = tip.appendChild(document.createElement("div"));
      line.append(document.createElement("i"), `${label}  ${number.format(value)} ${panel.unit}`);
      line.firstChild.className = `k${place % 12}`;
    }
    Object.assign(rule.style, { display: "block", left: `${x * scale}px`, top: `${top * scale}px`,
      height: `${(bottom - top) * scale}px` });
    tip.style.display = "block";
    const past = x * scale + 16 + tip.offsetWidth > box.width;
    tip.style.left = `${past ? x * scale - 16 - tip.offsetWidth : x * scale + 16}px`;
    tip.style.top = `${Math.max(0, Math.min(y * scale - 20, box.height - tip.offsetHeight))}px`;
  }

  sheet.addEventListener("pointermove", show);
  sheet.addEventListener("pointerleave", hide);
}
