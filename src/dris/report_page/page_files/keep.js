// The slider over α, and the classes at the fraction it stands on.
const FIRST_BARS = 20;
const bars = {all: D.classes.length <= FIRST_BARS};

function drawKeep() {
  const step = D.steps[state.step];
  const percent = share(step.fraction), present = step.byClass[0].map((n, c) => n + step.byClass[1][c] + step.byClass[2][c] > 0);
  const covered = step.byClass[0].filter(n => n > 0).length;
  if ($('alpha')) {
    $('alpha-now').textContent = percent;
    $('alpha').setAttribute('aria-valuetext', `${percent}, ${number(step.size)} examples`);
    $('alpha-size').textContent = number(step.size);
    $('alpha-limit').textContent = share(step.limit);
    $('alpha-suspects').textContent = number(step.suspects);
    $('alpha-classes').textContent = `${number(covered)} of ${number(present.filter(Boolean).length)}`;
  }
  $('classes-alpha').textContent = `${number(step.size)} of ${number(D.n)} kept`;
  const mark = $('alpha-mark');
  if (mark) {
    const x = Number(mark.dataset.left) + step.fraction * Number(mark.dataset.width);
    mark.setAttribute('x1', x); mark.setAttribute('x2', x);
  }
  drawBars(step, present);
}

// Classes that lose the largest share first; the widest bar is the largest class.
function drawBars(step, present) {
  const [kept, suspected, dropped] = step.byClass;
  const total = kept.map((n, c) => n + suspected[c] + dropped[c]), sum = list => list.reduce((a, b) => a + b, 0);
  const after = step.kept, before = D.before, all = Math.max(1, sum(before)), left = Math.max(1, sum(after));
  const most = Math.max(...total, 1);
  const order = D.classes.map((_, c) => c).filter(c => present[c])
    .sort((a, b) => (dropped[b] + suspected[b]) / total[b] - (dropped[a] + suspected[a]) / total[a] || a - b);
  const shown = bars.all ? order : order.slice(0, FIRST_BARS);
  $('bars').replaceChildren(...shown.map(c => {
    const track = el('div', {class: 'track', role: 'cell', 'aria-hidden': 'true'});
    [['kept', kept[c]], ['suspected', suspected[c]], ['dropped', dropped[c]]].forEach(([name, n]) => {
      if (!n) return;
      const piece = el('i', {class: name, title: `${name}: ${number(n)}`});
      piece.style.width = `${100 * n / most}%`;
      track.append(piece);
    });
    return el('div', {class: 'bar-row', role: 'row'}, el('span', {class: 'name', role: 'rowheader', title: D.classes[c]}, D.classes[c]), track,
      el('span', {class: 'counts', role: 'cell'}, el('b', {}, number(kept[c])), ' kept · ', suspected[c] ? `${number(suspected[c])} suspect, kept · ` : '', number(dropped[c]), ' dropped', el('br'), `share ${share(before[c] / all)} → ${share(after[c] / left)}`));
  }));
  const more = $('bars-all');
  more.hidden = order.length <= FIRST_BARS;
  more.textContent = bars.all ? `Show the first ${FIRST_BARS} only` : `Show all ${number(order.length)} classes`;
}

$('bars-all').addEventListener('click', () => { bars.all = !bars.all; drawKeep(); });
function setStep(step) {
  state.step = step;
  $('alpha').value = step;
  drawKeep(); drawLegend(); drawPoints();
  if (plane.region) showExamples(inside(plane.region), 'in this region');
}
$('alpha')?.addEventListener('input', event => setStep(Number(event.target.value)));
$('alpha-reset')?.addEventListener('click', () => setStep(D.chosen));
