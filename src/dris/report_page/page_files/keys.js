// The keys of the page and of dris review: legends, buttons, handlers and the table in
// docs/review.md follow this one. The first key of an entry is the one that is shown.
const KEYS = [
  {does: 'wrong', keys: ['A', 'W'], word: 'accept', says: 'accept the suggested label'},
  {does: 'right', keys: ['K', 'R'], word: 'keep', says: 'keep the given label'},
  {does: 'other', keys: ['O'], word: 'other', says: 'another class: type the beginning of its name, Enter'},
  {does: 'unsure', keys: ['U'], word: 'unsure', says: 'unsure'},
  {does: 'undo', keys: ['Z'], word: 'undo', says: 'undo your last answer, or all of it if it was about several'},
  {does: 'next', keys: ['N', 'J', 'ArrowRight'], word: 'next', says: 'next'},
  {does: 'previous', keys: ['P', 'ArrowLeft'], word: 'previous', says: 'previous'},
  {does: 'grid', keys: ['G'], word: 'grid', says: 'show 24 at once, or one again'},
  {does: 'every', keys: ['E'], word: 'every', says: 'select every one of the grid, or none'},
  {does: 'similar', keys: ['S'], word: 'similar', says: 'similar examples and exact copies'},
  {does: 'enlarge', keys: ['I'], word: 'enlarge', says: 'enlarge the picture'},
  {does: 'search', keys: ['/'], word: 'search', says: 'search ids and all columns'},
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

const keyLegend = (handlers, word = 'word') => KEYS.filter(entry => handlers[entry.does])
  .flatMap(entry => [el('kbd', {title: entry.says}, entry.keys[0]), ` ${entry[word]} `]);
