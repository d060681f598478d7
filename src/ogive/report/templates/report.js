"use strict";
// Draws the figure, reads numbers off it, counts at a threshold, sorts, searches and saves tables.
// Elements are made by name and text is set as text: nothing in the data can become markup or code.
(() => {
const SVG = "http://www.w3.org/2000/svg";
const make = (tag, set = {}, ...kids) => fill(document.createElement(tag), set, kids);
const draw = (tag, set = {}, ...kids) => fill(document.createElementNS(SVG, tag), set, kids);
function fill(one, set, kids) {
  for (const [key, value] of Object.entries(set)) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) one.setAttribute(key, value === true ? "" : value);
  }
  one.append(...kids);
  return one;
}
const all = (where, what) => [...where.querySelectorAll(what)];
const button = (text, label, act) => make("button", {type: "button", "aria-label": label, onclick: act}, text);
const fixed = (value, digits) => value.toFixed(digits).replace("-", "\u2212");
const percent = (value, digits = 1) => `${fixed(100 * value, digits)} %`;
const sharp = score => percent(score, score > 0.99 && score < 1 || score > 0 && score < 0.01 ? 2 : 1);
const many = value => Number(value.toPrecision(6)).toLocaleString("en");

// Files

function save(name, parts, type) {
  const address = URL.createObjectURL(new Blob(parts, {type}));
  const link = make("a", {href: address, download: name.replace(/[^\w.-]+/g, "-").slice(0, 80)});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 5000);
}
function cell(value) {
  let text = String(value ?? "").replace(/\u2212/g, "-");
  if (/^[-+]?[\d,]*\.?\d+ %$/.test(text)) return String(Number((parseFloat(text.replace(/,/g, "")) / 100).toPrecision(12)));
  if (/^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(text)) return text.replace(/,/g, "");
  if (/^[=+\-@\t\r]/.test(text) && !/^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text)) text = `'${text}`; // no formula in a spreadsheet
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}
const csv = (name, rows) => save(`${name}.csv`, [rows.map(row => row.map(cell).join(",")).join("\r\n"), "\r\n"], "text/csv");
const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "fill-opacity", "font-size", "font-family", "font-weight", "text-anchor"];
function copied(svg) {
  const twin = svg.cloneNode(true), [,, width, height] = svg.getAttribute("viewBox").split(" ");
  const from = all(svg, "*"), to = all(twin, "*");
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const key of KEPT) to[i].setAttribute(key, style.getPropertyValue(key));
    to[i].removeAttribute("class");
  });
  fill(twin, {xmlns: SVG, width: 2 * width, height: 2 * height}, []);
  const paper = getComputedStyle(document.body).backgroundColor;
  twin.prepend(draw("rect", {width, height, fill: paper}));
  return [new XMLSerializer().serializeToString(twin), 2 * width, 2 * height];
}
function savePicture(svg, name, kind) {
  const [text, width, height] = copied(svg);
  if (kind === "SVG") return save(`${name}.svg`, [text], "image/svg+xml");
  const image = new Image(), address = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
  image.onload = () => {
    const canvas = make("canvas", {width, height});
    canvas.getContext("2d").drawImage(image, 0, 0);
    canvas.toBlob(blob => save(`${name}.png`, [blob], "image/png"));
    URL.revokeObjectURL(address);
  };
  image.src = address;
}
const pictureButtons = (place, name) => ["SVG", "PNG"].map(kind => button(kind, `Save ${name} as ${kind}`,
  () => all(place, "svg.graph").forEach((svg, i, them) => savePicture(svg, them.length > 1 ? `${name}-${i + 1}` : name, kind))));

// Tables

const rank = text => {
  const number = parseFloat(text.replace(/\u2212/g, "-").replace(/,/g, "").replace(/^[<>] /, ""));
  return Number.isNaN(number) ? null : text.startsWith("<") ? number - 1e-9 : number;
};
function sort(table, place, head) {
  const up = head.getAttribute("aria-sort") !== "ascending", body = table.tBodies[0];
  const rows = [...body.rows].map(row => [row, row.cells[place].textContent]);
  const numbers = rows.every(([, text]) => text === "" || rank(text) !== null || /^(none|withheld|best)$/.test(text));
  const key = text => numbers ? rank(text) ?? (text === "best" ? -Infinity : Infinity) : text;
  const text = (a, b) => a.localeCompare(b, "en", {numeric: true});
  rows.sort(([, a], [, b]) => {
    const left = key(a), right = key(b);
    return (up ? 1 : -1) * (numbers ? (left === right ? 0 : left < right ? -1 : 1) : text(left, right));
  });
  all(table, "th[aria-sort]").forEach(one => one.setAttribute("aria-sort", "none"));
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows.map(([row]) => row));
}
const MANY_ROWS = 12; // from here on a table has a search field
function equip(region, meanings) {
  const table = region.querySelector("table"), name = region.getAttribute("aria-label").replace(/^Table: /, "");
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    const text = head.textContent, meaning = Object.keys(meanings).filter(key => `${text} `.startsWith(`${key} `)).sort((a, b) => b.length - a.length)[0];
    if (!text || table.tBodies[0].rows.length < 2) return;
    head.setAttribute("aria-sort", "none");
    head.replaceChildren(make("button", {type: "button", title: meaning ? meanings[meaning] : null, onclick: () => sort(table, place, head)}, text));
  });
  const tools = make("div", {class: "tools"});
  if (table.tBodies[0].rows.length > MANY_ROWS) {
    const found = make("output", {class: "soft"});
    tools.append(make("label", {}, "Search ", make("input", {type: "search", oninput: event => {
      const wanted = event.target.value.trim().toLowerCase();
      let kept = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
        kept += !row.hidden;
      }
      found.textContent = wanted ? `${many(kept)} of ${many(table.tBodies[0].rows.length)}` : "";
    }})), found);
  }
  tools.append(button("CSV", `Save ${name} as CSV`, () => csv(name, [...table.rows].map(row => [...row.cells].map(one => one.textContent)))));
  region.before(tools);
}

const block = document.getElementById("data");
const D = block ? JSON.parse(block.textContent) : null;
all(document, ".scroll").forEach(region => region.querySelector("thead") && equip(region, D ? D.meanings : {}));
all(document, "figure").forEach(figure => {
  if (!D || figure.id !== "calibration") figure.firstElementChild.after(make("div", {class: "tools"}, ...pictureButtons(figure, figure.id)));
});
if (!D) return;

// The figure

const state = {subject: D.subjects[0], shown: new Set(), odds: false, at: [null, null], threshold: 0.5, costs: [1, 1]};
const gridOf = subject => subject.fine ? D.grid : D.few;
const label = method => method === "none" ? (state.subject.series.length > 1 ? "before" : "outcomes") : method === D.chosen ? `after (${method})` : method === "groups" ? "groups" : method;
const styleOf = one => { const at = state.subject.series.indexOf(one); return at === 0 ? "before" : at === 1 ? "after" : `other other-${(at - 2) % 9}`; };
const shown = () => state.subject.series.filter(one => state.shown.has(one.m));
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT] = [400, 320, 62, 24, 12, 44];
const LEAST_ODDS = -7.5;
const odds = p => Math.max(LEAST_ODDS, Math.min(-LEAST_ODDS, Math.log(p / (1 - p))));
const chance = z => 1 / (1 + Math.exp(-z));
function steps(low, high, most = 5) {
  const least = (high - low) / most, power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= least * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}
function between(xs, ys, x) {
  if (x <= xs[0]) return ys[0];
  let high = xs.findIndex(one => one >= x);
  if (high < 0) return ys[ys.length - 1];
  const part = (x - xs[high - 1]) / (xs[high] - xs[high - 1] || 1);
  return ys[high - 1] + part * (ys[high] - ys[high - 1]);
}
function cellOf(one, score) {
  const grid = gridOf(state.subject);
  let at = grid.findIndex(edge => edge > score) - 1;
  if (at < 0) at = grid.length - 2;
  const rows = one.above[at] - (at + 1 < grid.length - 1 ? one.above[at + 1] : 0);
  return [rows, grid[at], grid[at + 1]];
}
const enough = (one, score) => !one.fitted || [-0.01, 0, 0.01].reduce((sum, step) => sum + cellOf(one, Math.min(Math.max(score + step, 0), 1))[0], 0) >= D.least;
// Also between such places, if they are near: the scores of a forest come in steps.
function richOf(one) {
  const score = one.line[0], rich = score.map(s => enough(one, s));
  let last = -1;
  rich.slice().forEach((ok, i) => {
    if (!ok) return;
    if (last >= 0 && score[i] - score[last] <= D.step) rich.fill(true, last, i);
    last = i;
  });
  return rich;
}
const path = (xs, ys) => "M" + xs.map((x, i) => `${x.toFixed(1)} ${ys[i].toFixed(1)}`).join("L");

function frame(xs, ys, names, place) {
  const {x, y} = place, parts = [draw("path", {class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - FOOT}H${WIDTH - RIGHT}`})];
  for (const [at, text] of xs) parts.push(
    draw("path", {class: "axis", d: `M${x(at)} ${HEIGHT - FOOT}v4`}),
    draw("text", {class: "tick", x: x(at), y: HEIGHT - FOOT + 16, "text-anchor": "middle"}, text));
  for (const [at, text] of ys) parts.push(
    draw("path", {class: "axis", d: `M${LEFT} ${y(at)}h-4`}),
    draw("text", {class: "tick", x: LEFT - 7, y: y(at) + 4, "text-anchor": "end"}, text));
  parts.push(
    draw("text", {class: "tick", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle"}, names[0]),
    draw("text", {class: "tick", transform: `translate(12 ${(TOP + HEIGHT - FOOT) / 2}) rotate(-90)`, "text-anchor": "middle"}, names[1]));
  return parts;
}
function places(xLow, xHigh, yLow, yHigh, warp = v => v) {
  const part = (v, low, high) => Math.min(Math.max((warp(v) - warp(low)) / (warp(high) - warp(low) || 1), 0), 1);
  return {
    x: v => LEFT + part(v, xLow, xHigh) * (WIDTH - RIGHT - LEFT),
    y: v => HEIGHT - FOOT - part(v, yLow, yHigh) * (HEIGHT - FOOT - TOP),
    back: px => {
      const share = Math.min(Math.max((px - LEFT) / (WIDTH - RIGHT - LEFT), 0), 1);
      const at = warp(xLow) + share * (warp(xHigh) - warp(xLow));
      return warp === odds ? chance(at) : at;
    },
  };
}
const canvas = (what, ...parts) => draw("svg", {class: "graph live", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": what}, ...parts);

function legend(lines, foot, more) {
  const words = [...lines.map(one => [`— ${label(one.m)}`, styleOf(one)]), [more, "band"]], x = LEFT + 8;
  const top = foot ? HEIGHT - FOOT - 15 * words.length + 8 : TOP + 10;
  return words.map(([text, kind], i) => draw("text", {class: `word ${kind}`, x, y: top + 15 * i}, text));
}
function reliability() {
  const lines = shown(), seen = [];
  const riches = lines.map(richOf);
  lines.forEach((one, k) => one.line[0].forEach((s, i) => riches[k][i] && seen.push(s, one.line[1][i])));
  let low = Math.floor(10 * Math.min(...seen) + 1e-9) / 10, high = Math.ceil(10 * Math.max(...seen) - 1e-9) / 10;
  if (!seen.length || high - low < 0.1) [low, high] = [0, Math.max(0.1, seen.length ? high : 1)];
  if (state.odds) [low, high] = [Math.max(0.0006, Math.min(0.4, ...seen)), Math.min(0.9994, Math.max(0.6, ...seen))];
  const warp = state.odds ? odds : v => v, place = places(low, high, low, high, warp), {x, y} = place, parts = [];
  const first = lines[0] || state.subject.series[0], grid = gridOf(state.subject);
  // Columns of equal width, so that their heights are numbers of rows; by the square root, so that few rows are seen too.
  const edges = Array.from({length: 51}, (_, i) => { const at = warp(low) + i / 50 * (warp(high) - warp(low)); return state.odds ? chance(at) : at; });
  const above = edges.map((edge, i) => i === 50 ? 0 : i === 0 ? first.n : between(grid, first.above, edge));
  const rows = edges.slice(1).map((_, i) => Math.sqrt(Math.max(above[i] - above[i + 1], 0))), tall = Math.max(...rows, 1e-9);
  parts.push(draw("path", {class: "density fill", d: rows.map((n, i) => {
    const top = HEIGHT - FOOT - (HEIGHT - FOOT - TOP) / 6 * n / tall;
    return n > 0 ? `M${x(edges[i])} ${HEIGHT - FOOT}V${top}H${x(edges[i + 1])}V${HEIGHT - FOOT}Z` : "";
  }).join("")}));
  parts.push(draw("path", {class: "thin reference dash", d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}`}));
  for (const [k, one] of lines.entries()) {
    const within = v => v >= low - 1e-9 && v <= high + 1e-9;
    const inside = one.line[0].map((v, i) => within(v) && (riches[k][i] || within(one.line[1][i]))), kind = styleOf(one);
    const [score, share, bottom, top] = one.line.map(column => column && column.filter((_, i) => inside[i]));
    const rich = riches[k].filter((_, i) => inside[i]);
    for (let start = 0; start < score.length;) {
      let end = start;
      while (end < score.length && rich[end] === rich[start]) end++;
      const a = rich[start] ? start : Math.max(start - 1, 0), b = rich[start] ? end : Math.min(end + 1, score.length);
      const xs = score.slice(a, b).map(x);
      if (one.fitted && bottom && rich[start]) parts.push(draw("path", {class: `area ${kind}`, d: path([...xs, ...[...xs].reverse()], [...top.slice(a, b).map(y), ...bottom.slice(a, b).map(y).reverse()]) + "Z"}));
      parts.push(draw("path", {class: `line ${kind}${rich[start] ? "" : " dash"}`, d: path(xs, share.slice(a, b).map(y))}));
      start = end;
    }
    if (!one.fitted) score.forEach((s, i) => parts.push(
      draw("path", {class: `thin ${kind}`, d: `M${x(s)} ${y(bottom[i])}V${y(top[i])}`}),
      draw("circle", {class: `fill ${kind}`, cx: x(s), cy: y(share[i]), r: 2.6})));
  }
  parts.push(...legend(lines, false, "▮ rows, by square root"));
  const ticks = state.odds ? [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999].filter(p => p >= low && p <= high) : steps(low, high);
  const named = ticks.map(p => [p, `${Number((100 * p).toPrecision(6))} %`]);
  parts.push(...frame(named, named, ["score", "share of outcomes that are 1"], place));
  return [canvas(`Share of outcomes that are 1 against the score, ${state.subject.name}: ${lines.map(one => label(one.m)).join(", ")}`, ...parts), place];
}
function gaps() {
  const lines = shown(), last = lines[lines.length - 1], band = lines.length && last.half;
  const heights = lines.flatMap(one => one.gap[1]).concat(band ? [band, -band] : [], 0);
  let low = Math.min(...heights), high = Math.max(...heights);
  const room = 0.12 * (high - low || 1e-3);
  [low, high] = [low - room, high + room];
  const place = places(0, 1, low, high), {x, y} = place, parts = [];
  if (band) parts.push(draw("path", {class: "area band", d: `M${x(0)} ${y(band)}H${x(1)}V${y(-band)}H${x(0)}Z`}));
  parts.push(draw("path", {class: "thin reference", d: `M${x(0)} ${y(0)}H${x(1)}`}));
  for (const one of lines) parts.push(draw("path", {class: `line ${styleOf(one)}`, d: path(one.gap[0].map(x), one.gap[1].map(y))}));
  const under = lines.length && -Math.min(...lines.flatMap(one => one.gap[1])) > Math.max(...lines.flatMap(one => one.gap[1]));
  parts.push(...legend(lines, under, band ? "▮ 95 % band" : ""));
  const ys = steps(low, high).map(v => [v, `${Number((100 * v).toPrecision(4))} %`.replace("-", "\u2212")]);
  parts.push(...frame(steps(0, 1).map(v => [v, `${Math.round(100 * v)} %`]), ys, ["share of rows, lowest scores first", "cumulative outcomes \u2212 scores"], place));
  return [canvas(`Cumulative outcomes minus scores, ${state.subject.name}: ${lines.map(one => `${label(one.m)} ${percent(one.ks, 2)} at most`).join(", ")}`, ...parts), place];
}

const figure = document.getElementById("calibration"), frames = [...figure.firstElementChild.children];
const PANELS = [
  {draw: reliability, name: "Read off at score", value: v => sharp(v), at: (one, v) => {
    const [score, share, bottom, top] = one.line, [rows, from, to] = cellOf(one, v);
    const ends = bottom ? ` (95 % interval ${percent(between(score, bottom, v))} to ${percent(between(score, top, v))})` : "";
    if (v < score[0] - 0.02 || v > score[score.length - 1] + 0.02) return `${label(one.m)}: no rows with such scores`;
    return `${label(one.m)}: the outcome is 1 in ${percent(between(score, share, v))}${ends}; ${many(rows)} rows with scores from ${sharp(from)} to ${sharp(to)}`;
  }},
  {draw: gaps, name: "Read off at share of rows", value: v => percent(v, 0), at: (one, v) => {
    const [part, gap, score] = one.gap, size = between(part, gap, v);
    return `${label(one.m)}: scores up to ${sharp(between(part, score, v))}; outcomes minus scores so far: ${percent(size, 2)} of all rows`;
  }},
];
PANELS.forEach((panel, i) => {
  panel.says = make("output", {class: "says", "aria-live": "polite"});
  panel.slider = make("input", {type: "range", min: 0, max: 1000, value: 800, "aria-label": panel.name, oninput: () => { state.at[i] = Number(panel.slider.value) / 1000; point(panel, i); }});
  panel.box = make("div");
  frames[i].replaceChildren(panel.box, make("label", {class: "reader"}, make("span", {}, panel.name), panel.slider), panel.says);
});
function point(panel, i) {
  const svg = panel.box.firstElementChild, px = LEFT + (state.at[i] ?? 0.8) * (WIDTH - RIGHT - LEFT), v = panel.place.back(px);
  all(svg, ".cursor").forEach(one => one.remove());
  panel.slider.value = Math.round(1000 * (state.at[i] ?? 0.8));
  panel.slider.setAttribute("aria-valuetext", panel.value(v));
  if (state.at[i] !== null) svg.append(draw("path", {class: "cursor", d: `M${px} ${TOP}V${HEIGHT - FOOT}`}));
  panel.says.replaceChildren(make("b", {}, panel.value(v)), ...shown().map(one => make("span", {class: styleOf(one)}, panel.at(one, v))));
}
function redraw() {
  PANELS.forEach((panel, i) => {
    const [svg, place] = panel.draw();
    panel.place = place;
    const move = event => {
      const box = svg.getBoundingClientRect();
      state.at[i] = Math.min(Math.max(((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - RIGHT - LEFT), 0), 1);
      point(panel, i);
    };
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerdown", move);
    panel.box.replaceChildren(svg);
    point(panel, i);
  });
  count();
}

// What is shown

const choices = document.getElementById("choices"), methods = make("fieldset", {class: "methods"});
const subjects = make("select", {onchange: () => choose(D.subjects[subjects.value])});
for (const kind of ["view", "class", "group"]) {
  const some = D.subjects.map((one, i) => [one, i]).filter(([one]) => one.kind === kind);
  if (some.length) subjects.append(make("optgroup", {label: {view: "Views", class: "Classes, the worst first", group: "Groups, the worst first"}[kind]},
    ...some.map(([one, i]) => make("option", {value: i}, one.name))));
}
function choose(subject) {
  state.subject = subject;
  subjects.value = D.subjects.indexOf(subject);
  const known = subject.series.map(one => one.m), kept = known.filter(one => state.shown.has(one));
  if (kept.length < 2) known.slice(0, 2).forEach(one => state.shown.add(one));
  methods.replaceChildren(make("legend", {}, "Show"), ...subject.series.map((one, i) => {
    const box = make("input", {type: "checkbox", checked: state.shown.has(one.m), onchange: () => { state.shown[box.checked ? "add" : "delete"](one.m); redraw(); }});
    return make("label", {}, box, draw("svg", {class: "swatch", viewBox: "0 0 22 8", "aria-hidden": "true"}, draw("path", {class: `line ${styleOf(one)}`, d: "M0 4H22"})),
      ` ${label(one.m)} `, make("span", {class: "soft"}, `KS ${percent(Math.abs(one.ks), 2)}`));
  }));
  redraw();
}
const axis = make("input", {type: "checkbox", onchange: () => { state.odds = axis.checked; redraw(); }});
choices.append(make("div", {class: "choices"},
  D.subjects.length > 1 ? make("label", {}, "View, class or group ", subjects) : "",
  make("label", {}, axis, " log-odds axis (spreads scores near 0 and 1)"), methods));
figure.firstElementChild.after(make("div", {class: "tools"}, ...pictureButtons(figure, "calibration"), button("CSV", "Save the lines shown as CSV", () => {
  const rows = [["subject", "method", "what", "score", "share of rows", "value", "95 % from", "to"]];
  for (const one of shown()) {
    one.line[0].forEach((s, i) => rows.push([state.subject.name, label(one.m), "share of 1s", s, "", one.line[1][i], one.line[2] ? one.line[2][i] : "", one.line[3] ? one.line[3][i] : ""]));
    one.gap[0].forEach((part, i) => rows.push([state.subject.name, label(one.m), "cumulative gap", one.gap[2][i], part, one.gap[1][i], "", ""]));
  }
  csv(`calibration-${state.subject.name}`, rows);
})));

// Threshold and costs

const counts = make("tbody"), slider = make("input", {type: "range", min: 0, "aria-label": "Threshold", oninput: () => { state.threshold = gridOf(state.subject)[slider.value]; count(); }});
const shownThreshold = make("output", {});
const cost = (i, words) => make("label", {}, words, make("input", {type: "number", min: 0, step: "any", value: 1, oninput: event => { state.costs[i] = Math.max(Number(event.target.value) || 0, 0); count(); }}));
const COUNTS = ["scores", "true positives", "false positives", "false negatives", "true negatives", "precision", "recall", "cost per row"];
document.getElementById("threshold").append(
  make("div", {class: "choices"}, make("label", {class: "reader"}, make("span", {}, "Threshold ", shownThreshold), slider),
    cost(0, "Cost of a false positive "), cost(1, "Cost of a false negative "),
    make("button", {type: "button", onclick: () => { const sum = state.costs[0] + state.costs[1]; if (sum > 0) { state.threshold = state.costs[0] / sum; count(); } }}, "Set the threshold for these costs")),
  make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Counts at the threshold"}, make("table", {},
    make("thead", {}, make("tr", {}, ...COUNTS.map(name => make("th", {scope: "col", title: D.meanings[name] ?? null}, name)))), counts)),
  make("p", {class: "soft"}, "For calibrated scores the threshold with the lowest cost is the cost of a false positive, divided by the sum of both costs."));
function count() {
  const grid = gridOf(state.subject);
  let at = 0;
  grid.forEach((edge, i) => { if (Math.abs(edge - state.threshold) < Math.abs(grid[at] - state.threshold)) at = i; });
  slider.max = grid.length - 1;
  slider.value = at;
  slider.setAttribute("aria-valuetext", sharp(grid[at]));
  shownThreshold.textContent = `${sharp(grid[at])}, ${state.subject.name}`;
  counts.replaceChildren(...shown().map(one => {
    const acted = one.above[at], right = one.hits[at], wrong = acted - right, missed = one.hits[0] - right;
    const cells = [right, wrong, missed, one.n - acted - missed].map(value => many(Math.max(value, 0)));
    const ratio = (part, whole) => whole > 0 ? percent(part / whole) : "none";
    const price = (state.costs[0] * wrong + state.costs[1] * missed) / one.n;
    return make("tr", {}, make("th", {scope: "row"}, label(one.m)), ...[...cells, ratio(right, acted), ratio(right, one.hits[0]), fixed(price, 4)].map(text => make("td", {}, text)));
  }));
}
for (const id of ["per-class", "groups"]) {
  const kind = id === "groups" ? "group" : "class", byName = new Map(D.subjects.filter(one => one.kind === kind).map(one => [one.name, one]));
  for (const head of all(document, `#${id} tbody th`)) {
    const subject = byName.get(head.textContent);
    if (subject) head.replaceChildren(make("button", {type: "button", class: "name", title: "Show in the figure", onclick: () => { choose(subject); document.getElementById("curve").scrollIntoView(); subjects.focus({preventScroll: true}); }}, head.textContent));
  }
}
choose(state.subject);
})();
