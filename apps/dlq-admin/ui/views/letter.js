import { download, get, post } from '../api.js';
import { go, show } from '../app.js';
import { h, replace, toast } from '../dom.js';
import { count, moment, visible } from '../format.js';
import { bindKeys } from '../keys.js';
import { confirmDialog } from '../parts/dialog.js';
import { facts, heading, reasonChip, section, statusChip, time } from '../parts/pieces.js';
import { stackView } from '../parts/stack.js';
import { longText, tree } from '../parts/tree.js';
import { may } from '../state.js';
import { editor } from './editor.js';

const DONE = { requeue: 'requeued', discard: 'discarded', restore: 'restored' };

export async function letterView(stage, [id]) {
  const letter = await get(`/dead-letters/${id}`);
  const change = async (what) => {
    const answer = await confirmDialog(`${title(what)} letter ${letter.id}?`, title(what), {
      danger: what === 'discard',
      note: true,
    });
    if (!answer) return;
    try {
      await post(`/dead-letters/${letter.id}/${what}`, { note: answer.note });
      toast(`Letter ${letter.id}: ${DONE[what]}.`);
      await show();
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const payloadBox = h('div', {}, payloadOf(letter));
  const edit = () =>
    replace(
      payloadBox,
      editor(letter, { done: () => show(), cancel: () => replace(payloadBox, payloadOf(letter)) }),
    );
  const open = letter.status === 'open' && may('operator');
  replace(
    stage,
    h(
      'p',
      { class: 'crumbs' },
      h('a', { href: '/letters' }, 'Letters'),
      ' / ',
      h('a', { href: `/groups/${letter.group}`, class: 'mono' }, `group ${letter.group.slice(0, 8)}`),
      ' / ',
      String(letter.id),
    ),
    heading(
      [
        h('bdi', {}, visible(letter.errorName)),
        ' ',
        statusChip(letter.status),
        ' ',
        reasonChip(letter.reason),
      ],
      open && [
        h('button', { class: 'primary', on: { click: () => change('requeue') } }, 'Requeue'),
        h('button', { on: { click: edit } }, 'Edit payload'),
        h('button', { class: 'danger', on: { click: () => change('discard') } }, 'Discard'),
      ],
      letter.status === 'discarded' &&
        may('operator') &&
        h('button', { class: 'primary', on: { click: () => change('restore') } }, 'Restore'),
    ),
    h('p', { class: 'message-line' }, longText(letter.errorMessage, '')),
    letter.note &&
      h('div', { class: 'notice' }, h('strong', {}, 'Note: '), h('bdi', {}, visible(letter.note))),
    letter.redactedPaths.length > 0 &&
      h(
        'div',
        { class: 'notice warn' },
        `Secrets were masked at ${letter.redactedPaths.map(visible).join(', ')}; edit the payload and give them anew before requeueing.`,
      ),
    letter.faults.length > 0 &&
      h(
        'div',
        { class: 'notice warn' },
        'The payload breaks its contract: ',
        letter.faults.map(({ path, rule }) =>
          h('span', { class: 'chip warn' }, `${visible(path || 'payload')}: ${visible(rule)}`),
        ),
      ),
    section(
      'Job',
      facts([
        ['Queue', letter.queue],
        ['Job id', h('span', { class: 'mono' }, h('bdi', {}, visible(letter.jobId)))],
        ['Job name', letter.name],
        ['Last worker', h('span', { class: 'mono' }, h('bdi', {}, visible(letter.lastWorkerId)))],
        ['Attempts', count(letter.attemptsMade)],
        ['Replays', count(letter.replayCount)],
        ['Enqueued', time(letter.enqueuedAt)],
        ['Failed', time(letter.failedAt)],
        ['Dead-lettered', time(letter.deadLetteredAt)],
        letter.replayJobId && ['Last redrive', h('span', { class: 'mono' }, letter.replayJobId)],
        letter.trace && ['Trace', h('span', { class: 'mono small' }, visible(letter.trace))],
      ]),
    ),
    h(
      'section',
      { class: 'card' },
      h(
        'div',
        { class: 'heading' },
        h('h2', {}, 'Payload'),
        !letter.hidden &&
          h(
            'button',
            {
              class: 'aside quiet',
              on: { click: () => download(`/dead-letters/${letter.id}/payload`, `letter-${letter.id}.json`) },
            },
            'Download',
          ),
      ),
      payloadBox,
    ),
    section(
      'Stack',
      letter.hidden ? h('p', { class: 'muted' }, 'Only operators see the stack.') : stackView(letter.stack),
    ),
    h(
      'div',
      { class: 'two' },
      section('Attempts', attempts(letter.attempts)),
      section('History', history(letter.history)),
    ),
  );
  return bindKeys({
    r: () => open && void change('requeue'),
    d: () => open && void change('discard'),
    e: () => open && edit(),
    u: () => go('/letters'),
  });
}

const title = (what) => what[0].toUpperCase() + what.slice(1);

function payloadOf(letter) {
  return letter.hidden
    ? h('p', { class: 'muted' }, 'Only operators see the payload.')
    : tree(letter.payload, letter.redactedPaths);
}

function attempts(list) {
  if (list.length === 0) return h('p', { class: 'muted' }, 'Nothing is recorded.');
  return h(
    'ol',
    { class: 'timeline' },
    list.map(({ attempt, error, at }) =>
      h(
        'li',
        { class: 'bad' },
        h(
          'div',
          {},
          h('strong', {}, `Attempt ${attempt}`),
          at ? h('span', { class: 'muted' }, ` · ${moment(at)}`) : '',
        ),
        h('div', { class: 'small' }, longText(error, 'mono')),
      ),
    ),
  );
}

function history(list) {
  const tone = {
    requeued: 'good',
    restored: 'good',
    edited: 'info',
    discarded: 'warn',
    reopened: 'bad',
    'dead-lettered': 'bad',
  };
  return h(
    'ol',
    { class: 'timeline' },
    list.map(({ at, actor, event, details }) =>
      h(
        'li',
        { class: tone[event] ?? '' },
        h(
          'div',
          {},
          h('strong', {}, event),
          h('span', { class: 'muted' }, ` · ${moment(at)} · `),
          h('bdi', { class: 'muted' }, visible(actor)),
        ),
        details.note && h('div', {}, h('bdi', {}, visible(details.note))),
        details.before && h('details', {}, h('summary', { class: 'small' }, 'before'), tree(details.before)),
        details.action &&
          h('div', { class: 'small' }, h('a', { href: `/bulk/${details.action}` }, 'bulk action')),
      ),
    ),
  );
}
