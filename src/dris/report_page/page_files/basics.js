// What the page's own scripts share: packed numbers, colours, what became of whom.
const D = JSON.parse($('data').textContent);
const NONE = 65535, OUTCOMES = ['kept', 'dropped', 'suspected', 'trusted', 'canary'];
const OUTCOME_TITLES = ['kept', 'dropped', 'suspect, kept', 'trusted', 'canary'];

function unpack({type, data}) {
  const text = atob(data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const kind = {Uint8Array, Uint16Array, Uint32Array}[type];
  return new kind(bytes.buffer);  // little-endian, as every machine a browser runs on
}

const P = {};
for (const name of ['x', 'y', 'label', 'suggested', 'flags', 'kept', 'p_wrong', 'p_suggested']) P[name] = unpack(D[name]);
const N = D.drawn;

const meanRank = i => P.x[i] / 65535;
const variance = i => P.y[i] / 65535 * D.top;
const idOf = i => D.ids.prefix + D.ids.words[i];
// A probability as people read it: no model is surer than 99 %.
const chance = value => `${Math.round(100 * Math.min(value / 65535, .99))}\u00a0%`;
const pWrong = i => D.calibrated ? `P(wrong) ${chance(P.p_wrong[i])}` : '';
// With two classes it is P(wrong) once more.
const pSuggested = i => D.calibrated && D.classes.length > 2 && P.suggested[i] !== P.label[i] ? ` (${chance(P.p_suggested[i])})` : '';
const className = c => c === NONE ? null : D.classes[c];

// The same order of precedence as Page.outcomes, at any step of the slider.
const state = {step: D.chosen};
function outcome(i) {
  const flags = P.flags[i];
  if (flags >> 2) return 4;
  return flags & 2 ? 3 : decided(i);
}
// What the decision did with an example, trusted or not, canary or not.
function decided(i) {
  if (!(P.kept[i] >>> state.step & 1)) return 1;
  return P.flags[i] & 1 ? 2 : 0;
}

const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// A glyph per outcome, so that colour is never the only sign. Drawn around (x, y), size s.
const GLYPHS = [
  // Below a few pixels a square is as round as a circle, and faster.
  (c, x, y, s) => { if (s < 1.2) c.rect(x - s, y - s, 2 * s, 2 * s); else { c.moveTo(x + s, y); c.arc(x, y, 1.15 * s, 0, 7); } },
  (c, x, y, s) => c.rect(x - s * .8, y - s * .8, 1.6 * s, 1.6 * s),
  (c, x, y, s) => { c.moveTo(x, y - 1.5 * s); c.lineTo(x + 1.4 * s, y + s); c.lineTo(x - 1.4 * s, y + s); c.closePath(); },
  (c, x, y, s) => { c.moveTo(x, y - 1.7 * s); c.lineTo(x + 1.7 * s, y); c.lineTo(x, y + 1.7 * s); c.lineTo(x - 1.7 * s, y); c.closePath(); },
  (c, x, y, s) => { c.moveTo(x - 1.4 * s, y - 1.4 * s); c.lineTo(x + 1.4 * s, y + 1.4 * s); c.moveTo(x + 1.4 * s, y - 1.4 * s); c.lineTo(x - 1.4 * s, y + 1.4 * s); },
];
const MARKS = ['●', '▪', '▲', '◆', '✕'];
