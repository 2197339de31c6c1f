import { patch } from '../api.js';
import { h, replace, toast } from '../dom.js';
import { visible } from '../format.js';
import { diffView } from '../parts/diff.js';

/** Edits a payload as JSON text, with the difference beside it; saves from the version that was read. */
export function editor(letter, { done, cancel }) {
  const before = JSON.stringify(letter.payload, null, 2);
  const area = h('textarea', {
    class: 'mono',
    rows: Math.min(30, Math.max(8, before.split('\n').length + 1)),
    spellcheck: 'false',
    'aria-label': 'Payload as JSON',
    'aria-describedby': 'edit-problem',
    value: before,
  });
  const problem = h('div', { id: 'edit-problem', class: 'notice bad', role: 'alert', hidden: true });
  const diff = h('div', {}, diffView(before, before));
  const note = h('input', {
    id: 'edit-note',
    maxlength: 500,
    placeholder: 'Why (kept in history and audit log)',
  });
  const save = h('button', { class: 'primary', disabled: true }, 'Save');
  const say = (...content) => {
    replace(problem, ...content);
    problem.hidden = content.length === 0;
  };
  const check = () => {
    try {
      const value = JSON.parse(area.value);
      replace(diff, diffView(before, JSON.stringify(value, null, 2)));
      save.disabled = JSON.stringify(value) === JSON.stringify(letter.payload);
      say();
      return value;
    } catch (error) {
      save.disabled = true;
      say(`Not JSON: ${error.message}`);
      return undefined;
    }
  };
  area.addEventListener('input', check);
  const submit = async (event) => {
    event.preventDefault();
    const payload = check();
    if (payload === undefined) return;
    try {
      await patch(
        `/dead-letters/${letter.id}/payload`,
        { payload, ...(note.value && { note: note.value }) },
        { 'if-match': `"${letter.version}"` },
      );
      toast('Saved. The payload before is in the history.');
      await done();
    } catch (error) {
      say(
        error.message,
        h(
          'ul',
          {},
          error.errors?.map(({ path, message }) =>
            h('li', {}, h('code', {}, visible(path)), ` ${visible(message)}`),
          ),
        ),
      );
    }
  };
  setTimeout(() => area.focus());
  return h(
    'form',
    { class: 'editor', on: { submit } },
    h(
      'div',
      { class: 'two' },
      h('div', {}, h('h3', {}, 'New payload'), area),
      h('div', {}, h('h3', {}, 'Changes'), diff),
    ),
    problem,
    h('p', {}, h('label', { for: 'edit-note' }, 'Note'), note),
    h('footer', {}, h('button', { type: 'button', on: { click: cancel } }, 'Cancel'), save),
  );
}
