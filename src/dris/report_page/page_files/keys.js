// The keys of the page and of dris review: legends, buttons and handlers are made from this table.
// The first key of an entry is the one that is shown.
const KEYS = [
  {does: 'wrong', keys: ['A', 'W'], word: 'accept'},
  {does: 'right', keys: ['K', 'R'], word: 'keep'},
  {does: 'other', keys: ['O'], word: 'other'},
  {does: 'unsure', keys: ['U'], word: 'unsure'},
  {does: 'undo', keys: ['Z'], word: 'undo'},
  {does: 'next', keys: ['N', 'J', 'ArrowRight'], word: 'next'},
  {does: 'previous', keys: ['P', 'ArrowLeft'], word: 'previous'},
  {does: 'similar', keys: ['S'], word: 'similar'},
  {does: 'enlarge', keys: ['I'], word: 'enlarge'},
  {does: 'search', keys: ['/'], word: 'search'},
];
const keyOf = does => KEYS.find(entry => entry.does === does).keys[0];

// Run the handler of the key that was pressed, by what it does.
function handleKey(event, handlers) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const entry = KEYS.find(one => one.keys.some(key => key.toLowerCase() === event.key.toLowerCase()));
  if (!entry || !handlers[entry.does]) return;
  event.preventDefault();
  handlers[entry.does]();
}

const keyLegend = handlers => KEYS.filter(entry => handlers[entry.does])
  .flatMap(entry => [el('kbd', {}, entry.keys[0]), ` ${entry.word} `]);
