// The plane: every example as a point, a region to drag, and the examples behind it.
const canvas = $('plane'), pen = canvas && canvas.getContext('2d');  // without proxies there is no plane
const plane = {hidden: new Set(), region: null, drag: null, printing: false, layer: null, left: 56, right: 12, top: 14, bottom: 40};
const ceiling = D.top > 0 ? D.top * 1.04 : 0.01;

function frame() {
  const w = canvas.clientWidth, h = canvas.clientHeight;
  return {w, h, x0: plane.left, x1: w - plane.right, y0: h - plane.bottom, y1: plane.top};
}
const toX = (f, v) => f.x0 + v * (f.x1 - f.x0);
// Heights go by the square root of the variance (the rank's standard deviation): most examples
// are barely disputed, and a straight scale would press them into a line. Regions are in heights.
const height = v => Math.sqrt(v / ceiling);
const toY = (f, h) => f.y0 - h * (f.y0 - f.y1);
const fromX = (f, x) => Math.min(1, Math.max(0, (x - f.x0) / (f.x1 - f.x0)));
const fromY = (f, y) => Math.min(1, Math.max(0, (f.y0 - y) / (f.y0 - f.y1)));

// Points are drawn once onto a layer of their own; the region moves above it.
function drawPoints() {
  const f = frame(), dpr = plane.printing ? 2 : window.devicePixelRatio || 1;
  if (!f.w) return;
  canvas.width = Math.round(f.w * dpr); canvas.height = Math.round(f.h * dpr);
  const layer = plane.layer = document.createElement('canvas');
  layer.width = canvas.width; layer.height = canvas.height;
  const c = layer.getContext('2d');
  c.scale(dpr, dpr);
  axes(c, f);
  const groups = [[], [], [], [], []];
  for (let i = 0; i < N; i++) groups[outcome(i)].push(i);
  const size = Math.max(0.8, Math.min(2.6, 60 / Math.sqrt(N) + 0.55));
  const alpha = Math.max(0.28, Math.min(0.85, 120 / Math.sqrt(N)));
  for (const d of [1, 0, 2, 3, 4]) {
    if (plane.hidden.has(d)) continue;
    const bold = d >= 3 ? 1.5 : d === 2 ? 1.15 : 1;
    c.globalAlpha = d >= 3 ? 0.95 : alpha;
    c.fillStyle = c.strokeStyle = color(OUTCOMES[d]);
    c.lineWidth = 1.4;
    // In pieces: one path of 50,000 overlapping shapes is slow to fill.
    for (let from = 0; from < groups[d].length; from += 400) {
      c.beginPath();
      for (const i of groups[d].slice(from, from + 400)) GLYPHS[d](c, toX(f, meanRank(i)), toY(f, height(variance(i))), size * bold);
      if (d === 4) c.stroke(); else c.fill();
    }
  }
  drawRegion();
}

function axes(c, f) {
  c.fillStyle = color('muted'); c.strokeStyle = color('line'); c.lineWidth = 1;
  c.font = '12px ' + getComputedStyle(document.body).fontFamily;
  c.textAlign = 'center';
  for (const v of [0, .25, .5, .75, 1]) {
    c.fillText(String(v), toX(f, v), f.y0 + 17);
    c.beginPath(); c.moveTo(toX(f, v), f.y0); c.lineTo(toX(f, v), f.y1); c.stroke();
  }
  c.textAlign = 'right';
  let above = f.y1 - 40;
  for (const v of [.25, .2, .15, .1, .05, .02, .01, .005, .002, .001, .0005, .0002, .0001, 0]) {
    const y = toY(f, height(v));
    if (y < f.y1 || y - above < 34 || (v && f.y0 - y < 24)) continue;
    above = y;
    c.fillText(String(v), f.x0 - 7, y + 4);
    c.beginPath(); c.moveTo(f.x0, y); c.lineTo(f.x1, y); c.stroke();
  }
  c.textAlign = 'center';
  c.fillText('mean rank: easy → hard', (f.x0 + f.x1) / 2, f.h - 5);
  c.textAlign = 'left';
  c.fillText('↑ rank variance: disputed', f.x0 + 6, f.y1 + 10);
}

function drawRegion() {
  if (!plane.layer) return;
  const f = frame(), dpr = canvas.width / f.w;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(plane.layer, 0, 0);
  if (!plane.region) return;
  pen.setTransform(dpr, 0, 0, dpr, 0, 0);
  const r = plane.region, x = toX(f, r.x0), y = toY(f, r.y1);
  pen.fillStyle = color('accent'); pen.strokeStyle = color('accent'); pen.lineWidth = 1.5;
  pen.globalAlpha = .1; pen.fillRect(x, y, toX(f, r.x1) - x, toY(f, r.y0) - y);
  pen.globalAlpha = 1; pen.strokeRect(x, y, toX(f, r.x1) - x, toY(f, r.y0) - y);
}

function inside(r) {
  const members = [];
  const k = D.top > 0 ? 65535 * ceiling / D.top : 1;
  const x0 = r.x0 * 65535, x1 = r.x1 * 65535, y0 = r.y0 * r.y0 * k, y1 = r.y1 * r.y1 * k;
  for (let i = 0; i < N; i++) {
    if (P.x[i] >= x0 && P.x[i] <= x1 && P.y[i] >= y0 && P.y[i] <= y1 && !plane.hidden.has(outcome(i))) members.push(i);
  }
  // What can be shown comes first, canaries last, the rest by p_wrong.
  const first = i => (D.details && D.details.by[i] !== undefined ? 2 : 0) + (P.flags[i] >> 2 ? 0 : 1);
  return members.sort((a, b) => first(b) - first(a) || P.p_wrong[b] - P.p_wrong[a]);
}

function choose(region, what = 'in this region') {
  plane.region = region;
  drawRegion();
  if (region) showExamples(inside(region), what);
  else { showExamples([], ''); $('panel-status').textContent = 'Nothing chosen yet.'; }
}

function nearest(px, py) {
  const f = frame();
  let best = -1, distance = 18 * 18;
  for (let i = 0; i < N; i++) {
    if (plane.hidden.has(outcome(i))) continue;
    const dx = toX(f, meanRank(i)) - px, dy = toY(f, height(variance(i))) - py, d = dx * dx + dy * dy;
    if (d < distance) { distance = d; best = i; }
  }
  return best;
}

const at = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
const spanning = (f, [ax, ay], [bx, by]) => ({
  x0: fromX(f, Math.min(ax, bx)), x1: fromX(f, Math.max(ax, bx)),
  y0: fromY(f, Math.max(ay, by)), y1: fromY(f, Math.min(ay, by))});

const PRESETS = {
  hard: () => ({x0: .75, x1: 1, y0: 0, y1: .4}),
  disputed: () => ({x0: 0, x1: 1, y0: .6, y1: 1}),
  easy: () => ({x0: 0, x1: .25, y0: 0, y1: .4}),
  clear: () => null,
};

function listenToPlane() {
  canvas.addEventListener('pointerdown', event => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    plane.drag = at(event);
  });
  canvas.addEventListener('pointermove', event => {
    if (!plane.drag) return;
    plane.region = spanning(frame(), plane.drag, at(event));
    drawRegion();
  });
  canvas.addEventListener('pointerup', event => {
    if (!plane.drag) return;
    const from = plane.drag, to = at(event);
    plane.drag = null;
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) > 5) return choose(spanning(frame(), from, to));
    const i = nearest(...to);
    if (i < 0) return choose(null);
    const w = 0.008, x = meanRank(i), h = height(variance(i));
    plane.region = {x0: x - w, x1: x + w, y0: h - w, y1: h + w};
    drawRegion();
    showExamples([i], 'under the pointer');
  });
  canvas.addEventListener('pointercancel', () => { plane.drag = null; });
  for (const button of document.querySelectorAll('[data-preset]')) {
    button.addEventListener('click', () => choose(PRESETS[button.dataset.preset]()));
  }
  canvas.addEventListener('keydown', event => {
    if (event.key === 'Escape') return choose(null);
    const moves = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
    if (!moves[event.key]) return;
    event.preventDefault();
    const r = plane.region || {x0: .4, x1: .6, y0: 0, y1: .2};
    const dx = moves[event.key][0] * .05, dy = moves[event.key][1] * .05, grow = event.shiftKey;
    const moved = {x0: grow ? r.x0 : r.x0 + dx, x1: r.x1 + dx, y0: grow ? r.y0 : r.y0 + dy, y1: r.y1 + dy};
    if (moved.x0 < -1e-9 || moved.x1 > 1 + 1e-9 || moved.y0 < -1e-9 || moved.y1 > 1 + 1e-9) return;
    if (moved.x1 - moved.x0 < .02 || moved.y1 - moved.y0 < .02) return;
    choose(moved);
  });
}

function drawLegend() {
  const counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < N; i++) {
    counts[decided(i)]++;
    if (outcome(i) > 2) counts[outcome(i)]++;
  }
  $('legend').replaceChildren(...OUTCOMES.map((name, d) => counts[d] === 0 && d > 1 ? null : el('button', {
    type: 'button', class: name, 'aria-pressed': String(!plane.hidden.has(d)), 'data-outcome': name,
    on: {click: () => { plane.hidden.has(d) ? plane.hidden.delete(d) : plane.hidden.add(d); drawLegend(); drawPoints(); $('legend').querySelector(`[data-outcome=${name}]`).focus(); }},
  }, el('span', {class: 'sign', 'aria-hidden': 'true'}, MARKS[d]), ` ${OUTCOME_TITLES[d]} `, el('span', {class: 'quiet'}, number(counts[d])))).filter(Boolean));
}
