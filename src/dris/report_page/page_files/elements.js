// Elements, numbers and words: what the page and the review app are both built with.
const $ = id => document.getElementById(id);
const root = document.documentElement;

// An element with text, attributes and children. Text is only ever set as text, never as markup.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'on') for (const [event, f] of Object.entries(value)) made.addEventListener(event, f);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

const number = value => value.toLocaleString('en-GB');
const share = value => value === null ? 'not measured'
  : `${Number((100 * value).toPrecision(value < 0.1 ? 2 : 3))}\u00a0%`;
const plural = (n, one, many = one + 's') => `${number(n)} ${n === 1 ? one : many}`;

// Dark or light by the system, or by the button; `changed` hears of it.
function followTheme(changed) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  $('theme').addEventListener('click', () => {
    const now = root.dataset.theme || (dark.matches ? 'dark' : 'light');
    root.dataset.theme = now === 'dark' ? 'light' : 'dark';
    changed();
  });
  dark.addEventListener('change', changed);
}
