import { count, moment } from '../format.js';
import { html, useLayoutEffect, useRef, useState } from '../preact.js';

const H = 220;
const LEFT = 48;
const BOTTOM = 24;
const TOP = 12;

/**
 * Amounts over time, one on top of the other, drawn as wide as there is room. `points` are { at, values }, `names` tell
 * what the values are. The label says in words what the picture shows.
 */
export function Plot({ points, names, from, until, label }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  const [near, setNear] = useState(-1);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const scale = scaleOf(points, from, until, width);
  const look = ({ clientX }) => {
    const at = scale.timeAt(clientX - box.current.getBoundingClientRect().left);
    const gaps = points.map((point) => Math.abs(point.at - at));
    setNear(gaps.indexOf(Math.min(...gaps)));
  };
  const tip = points[near];
  return html`
    <div class="plot-box" ref=${box} onPointerMove=${look} onPointerLeave=${() => setNear(-1)}>
      ${
        width > 0 &&
        html`<svg class="plot" width=${width} height=${H} role="img" aria-label=${label}>
        <${Grid} scale=${scale} from=${from} until=${until} />
        ${names.map((name, index) => html`<path class="area ${name}" d=${areaOf(points, index, scale)} />`)}
        ${tip && html`<line x1=${scale.x(tip.at)} x2=${scale.x(tip.at)} y1=${TOP} y2=${H - BOTTOM} />`}
      </svg>`
      }
      ${tip && html`<${Tip} of=${tip} names=${names} scale=${scale} />`}
    </div>`;
}

function Tip({ of: { at, values }, names, scale }) {
  const left = `${Math.max(0, Math.min(scale.width - 190, scale.x(at) - 80))}px`;
  const lines = names.map((name, index) => html`<div><strong>${count(values[index])}</strong> ${name}</div>`);
  return html`<div class="tip" style=${{ left }}>${lines}${moment(at)}</div>`;
}

function Grid({ scale, from, until }) {
  const ticks = scale.width < 500 ? 2 : 4;
  const times = Array.from({ length: ticks + 1 }, (_, n) => from + ((until - from) * n) / ticks);
  const anchor = (n) => (n === 0 ? 'start' : n === ticks ? 'end' : 'middle');
  return html`
    ${[0, 0.25, 0.5, 0.75, 1].map((part) => {
      const y = scale.y(scale.top * part);
      return html`<line x1=${LEFT} x2=${scale.width - 8} y1=${y} y2=${y} />
        <text x=${LEFT - 8} y=${y + 4} text-anchor="end">${count(Math.round(scale.top * part))}</text>`;
    })}
    ${times.map((at, n) => html`<text x=${scale.x(at)} y=${H - 6} text-anchor=${anchor(n)}>${clock(at, until - from)}</text>`)}`;
}

const sumTo = (values, index) => values.slice(0, index + 1).reduce((sum, value) => sum + value, 0);

function scaleOf(points, from, until, width) {
  const top = niceTop(Math.max(1, ...points.map(({ values }) => sumTo(values, values.length))));
  const room = Math.max(1, width - LEFT - 8);
  return {
    top,
    width,
    x: (at) => LEFT + ((at - from) / (until - from)) * room,
    y: (value) => TOP + (1 - value / top) * (H - TOP - BOTTOM),
    timeAt: (x) => from + ((x - LEFT) / room) * (until - from),
  };
}

function areaOf(points, index, { x, y }) {
  const place = (point, n) => `${x(point.at).toFixed(1)} ${y(sumTo(point.values, n)).toFixed(1)}`;
  const upper = points.map((point) => place(point, index));
  const lower = points.map((point) => place(point, index - 1)).reverse();
  return points.length > 1 ? `M${[...upper, ...lower].join('L')}Z` : '';
}

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Math.max(4, [1, 2, 4, 5, 10].map((n) => n * power).find((n) => n >= value) ?? value);
}

/** A day (`19.11.`) or a time of the day (`04:07`), to the second where the span is short. */
function clock(at, span) {
  const two = /** @type {const} */ ('2-digit');
  const day = { day: two, month: two };
  const time = { hour: two, minute: two, second: span < 600_000 ? two : undefined };
  return new Date(at).toLocaleString('de', span > 2 * 86_400_000 ? day : time);
}
