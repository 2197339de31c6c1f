import { get, post } from '../api.js';
import { show } from '../app.js';
import { h, replace, toast, window } from '../dom.js';
import { visible } from '../format.js';
import { confirmDialog, openDialog } from '../parts/dialog.js';
import { heading, listTable, section, time } from '../parts/pieces.js';

export async function keysView(stage) {
  const { items } = await get('/keys');
  const name = h('input', {
    id: 'k-name',
    required: true,
    maxlength: 100,
    placeholder: 'who or what uses it',
  });
  const role = h(
    'select',
    { id: 'k-role' },
    ['viewer', 'operator', 'admin'].map((one) => h('option', {}, one)),
  );
  const queues = h('input', { id: 'k-queues', placeholder: 'all, or names with commas' });
  const days = h('input', { id: 'k-days', type: 'number', min: 1, max: 3650, placeholder: 'never' });
  const create = async (event) => {
    event.preventDefault();
    const list = queues.value
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean);
    try {
      const made = await post('/keys', {
        name: name.value,
        role: role.value,
        ...(list.length > 0 && { queues: list }),
        ...(days.value && { expiresInDays: Number(days.value) }),
      });
      await openDialog('The new key', () =>
        h(
          'div',
          {},
          h('p', {}, 'Copy it now: it is not stored and cannot be shown again.'),
          h('p', { class: 'mono secret' }, made.key),
          h(
            'p',
            {},
            h(
              'button',
              {
                on: {
                  click: () => window.navigator.clipboard?.writeText(made.key).then(() => toast('Copied.')),
                },
              },
              'Copy',
            ),
          ),
        ),
      );
      await show();
    } catch (error) {
      toast(error.message, 'bad');
    }
  };
  const revoke = async (key) => {
    const answer = await confirmDialog(
      `Revoke ${visible(key.name)} (${key.id})? Its sessions end at once.`,
      'Revoke',
      { danger: true, note: true },
    );
    if (!answer) return;
    await post(`/keys/${key.id}/revoke`, { note: answer.note }).catch((error) => toast(error.message, 'bad'));
    await show();
  };
  const row = (key) =>
    h(
      'tr',
      {},
      h(
        'td',
        {},
        h('strong', {}, h('bdi', {}, visible(key.name))),
        h('div', { class: 'mono small muted' }, key.id),
      ),
      h('td', { 'data-label': 'Role' }, h('span', { class: 'chip' }, key.role)),
      h(
        'td',
        { 'data-label': 'Queues' },
        key.queues ? key.queues.map((queue) => h('div', {}, visible(queue))) : 'all',
      ),
      h('td', { class: 'when', 'data-label': 'Created' }, time(key.createdAt)),
      h('td', { class: 'when', 'data-label': 'Last used' }, key.lastUsedAt ? time(key.lastUsedAt) : '–'),
      h(
        'td',
        { 'data-label': 'State' },
        key.revokedAt
          ? h('span', { class: 'chip discarded' }, 'revoked')
          : key.expiresAt
            ? h('span', { class: 'small' }, 'expires ', new Date(key.expiresAt).toISOString().slice(0, 10))
            : h('span', { class: 'chip completed' }, 'valid'),
      ),
      h(
        'td',
        {},
        !key.revokedAt && h('button', { class: 'danger', on: { click: () => revoke(key) } }, 'Revoke'),
      ),
    );
  replace(
    stage,
    heading('Keys'),
    section(
      'New key',
      h(
        'form',
        { class: 'fields', on: { submit: create } },
        h('div', {}, h('label', { for: 'k-name' }, 'Name'), name),
        h('div', {}, h('label', { for: 'k-role' }, 'Role'), role),
        h('div', {}, h('label', { for: 'k-queues' }, 'Queues'), queues),
        h('div', {}, h('label', { for: 'k-days' }, 'Expires in days'), days),
        h('div', { class: 'submit' }, h('button', { class: 'primary' }, 'Create')),
      ),
    ),
    h(
      'section',
      { class: 'card' },
      listTable(
        ['Key', 'Role', 'Queues', 'Created', 'Last used', 'State', { hidden: 'Actions' }],
        items.map(row),
      ),
    ),
  );
}
