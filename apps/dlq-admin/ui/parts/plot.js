import { h, s } from '../dom.js';
import { count, moment, plural } from '../format.js';

const W = 1160;
const H = 250;
const LEFT = 52;
const BOTTOM = 24;
const TOP = 12;

/** Depth over time as an area, drawn element by element. Its numbers are in a table too, for those who do not see it. */
export function depthPlot(points, from, until) {
  const top = niceTop(Math.max(1, ...points.map(({ depth }) => depth)));
  const x = (at) => LEFT + ((at - from) / (until - from)) * (W - LEFT - 8);
  const y = (depth) => TOP + (1 - depth / top) * (H - TOP - BOTTOM);
  const last = points.at(-1);
  const label =
    points.length === 0
      ? 'No samples yet'
      : `Open letters from ${moment(from)} to ${moment(until)}: now ${count(last.depth)}, at most ${count(Math.max(...points.map(({ depth }) => depth)))}`;
  const line = points
    .map(({ at, depth }, index) => `${index ? 'L' : 'M'}${x(at).toFixed(1)} ${y(depth).toFixed(1)}`)
    .join('');
  const area =
    points.length > 1
      ? `${line}L${x(last.at).toFixed(1)} ${y(0)}L${x(points[0].at).toFixed(1)} ${y(0)}Z`
      : '';
  const dot = s('circle', { r: 4, class: 'dot', visibility: 'hidden' });
  const tip = h('div', { class: 'tip', hidden: true });
  const svg = s(
    'svg',
    { viewBox: `0 0 ${W} ${H}`, class: 'plot', role: 'img', 'aria-label': label },
    [0, 0.25, 0.5, 0.75, 1].map((part) => [
      s('line', { x1: LEFT, x2: W - 8, y1: y(top * part), y2: y(top * part), class: part ? 'grid' : 'axis' }),
      s(
        'text',
        { x: LEFT - 8, y: y(top * part) + 4, 'text-anchor': 'end', class: 'tick' },
        count(Math.round(top * part)),
      ),
    ]),
    [0, 1, 2, 3, 4].map((n) => {
      const at = from + ((until - from) * n) / 4;
      return s(
        'text',
        { x: x(at), y: H - 6, 'text-anchor': n === 0 ? 'start' : n === 4 ? 'end' : 'middle', class: 'tick' },
        clock(at, until - from),
      );
    }),
    s('path', { d: area, class: 'area' }),
    s('path', { d: line, class: 'curve' }),
    dot,
  );
  const box = h('div', { class: 'plot-box' }, svg, tip);
  svg.addEventListener('pointermove', (event) => {
    const rect = svg.getBoundingClientRect();
    const at =
      from + ((((event.clientX - rect.left) / rect.width) * W - LEFT) / (W - LEFT - 8)) * (until - from);
    const near = points.reduce(
      (best, point) => (Math.abs(point.at - at) < Math.abs((best?.at ?? Infinity) - at) ? point : best),
      undefined,
    );
    if (!near) return;
    dot.setAttribute('cx', x(near.at));
    dot.setAttribute('cy', y(near.depth));
    dot.setAttribute('visibility', 'visible');
    tip.hidden = false;
    tip.replaceChildren(h('strong', {}, plural(near.depth, 'open letter')), h('br'), moment(near.at));
    tip.style.left = `${Math.min(rect.width - 180, Math.max(0, (x(near.at) / W) * rect.width - 80))}px`;
  });
  svg.addEventListener('pointerleave', () => {
    dot.setAttribute('visibility', 'hidden');
    tip.hidden = true;
  });
  return box;
}

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Math.max(4, [1, 2, 4, 5, 10].map((n) => n * power).find((n) => n >= value) ?? value);
}

function clock(at, span) {
  const date = new Date(at);
  const two = (n) => String(n).padStart(2, '0');
  if (span < 600_000) return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return span > 2 * 86_400_000
    ? `${two(date.getDate())}.${two(date.getMonth() + 1)}.`
    : `${two(date.getHours())}:${two(date.getMinutes())}`;
}
