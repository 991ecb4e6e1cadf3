// Start: fill in what was handed over, listen to keys, and hear of other people's answers.
const HANDLERS = {wrong: () => answer('wrong'), right: () => answer('right'), unsure: () => answer('unsure'), other: openOther, undo,
  next: () => go(1), previous: () => go(-1), grid: toggleGrid, every: pickEvery,
  similar: () => { $('similar-details').open = !$('similar-details').open; },
  enlarge: () => $('card').querySelector('.zoomable')?.click(),
  search: () => $('search').focus()};

document.addEventListener('keydown', event => {
  if (event.target === $('other')) return otherKey(event);
  if (event.target.closest('input, select, textarea, dialog')) {
    if (event.key === 'Escape' && event.target === $('search')) $('card').focus();
  } else if (S.classes) handleKey(event, HANDLERS);
});

function otherKey(event) {
  const steps = {ArrowDown: 1, ArrowUp: -1};
  if (event.key === 'Escape') { $('other-form').hidden = true; $('card').focus(); }
  else if (event.key === 'Enter') pickOther(marked);
  else if (steps[event.key]) markOther(steps[event.key]);
  else return;
  event.preventDefault();
}

const wide = !matchMedia('(max-width: 820px)').matches;

let waiting = 0;
async function search() {
  const words = $('search').value.trim(), turn = ++waiting;
  try {
    const matching = words ? new Set(await ask('search?words=' + encodeURIComponent(words))) : null;
    if (turn !== waiting) return;
    S.matching = matching;
    filter();
  } catch (error) { failed(error); }
}

function fill(select, name) {
  select.replaceChildren(el('option', {value: ''}, 'any'),
    ...[...new Set(S[name])].filter(c => c !== NO_LABEL).sort((a, b) => a - b).map(c => el('option', {value: String(c)}, S.classes[c])));
}

async function open() {
  Object.assign(S, await ask('opening'));
  document.title = `${S.title} · dris review`;
  $('title').textContent = `· ${S.title}`;
  if (document.activeElement !== $('who')) $('who').value = S.who;
  $('grid').hidden = !S.brief;
  if (S.near && wide) $('similar-details').open = true;
  for (const [id, name] of [['by-given', 'given'], ['by-suggested', 'suggested']]) fill($(id), name);
  S.cell = null; S.only = S.members = null;
  drawHeat(); drawCell(); update(S.summary); filter();
}

// Another tab, or another person in one, has answered: take their answers over.
function listen() {
  const events = new EventSource('events');
  events.addEventListener('message', async event => {
    if (Number(event.data) === S.summary?.version) return;
    try {
      const {answers, summary} = await ask('progress');
      if (summary.version < S.summary.version) return;
      S.answers = answers;
      update(summary);
    } catch { /* it will be asked again with the next change */ }
  });
}

for (const id of ['by-given', 'by-suggested', 'by-p', 'by-state']) $(id).addEventListener('change', leaveCell);
$('clear').addEventListener('click', () => {
  for (const id of ['by-given', 'by-suggested', 'by-p', 'search']) $(id).value = '';
  $('by-state').value = 'open';
  S.matching = null;
  leaveCell();
});
function leaveCell() {
  S.only = S.members = S.cell = null;
  drawHeat(); drawCell(); filter();
}
$('grid').addEventListener('click', toggleGrid);
$('search').addEventListener('input', search);
$('search-form').addEventListener('submit', event => { event.preventDefault(); $('card').focus(); });
$('other').addEventListener('input', listOthers);
$('other-form').addEventListener('submit', event => event.preventDefault());
$('back').addEventListener('click', () => go(-1));
$('on').addEventListener('click', () => go(1));
$('finish').addEventListener('click', openFinish);
$('similar-details').addEventListener('toggle', () => { if ($('similar-details').open) drawSimilar(current()); });
$('who').addEventListener('change', () => {
  S.who = $('who').value.trim();
  try { sessionStorage.setItem('dris-who', S.who); } catch { /* the name lives as long as the page */ }
  open().catch(failed);
});

$('keys').replaceChildren(...keyLegend(HANDLERS));
followTheme(() => {});
try { S.who = sessionStorage.getItem('dris-who') || ''; } catch { S.who = ''; }
if (!wide) for (const box of document.querySelectorAll('.side details')) box.open = false;
open().then(() => { root.dataset.ready = Math.round(performance.now()); listen(); $('card').focus({preventScroll: true}); }).catch(failed);
