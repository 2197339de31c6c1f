import { post, setCsrf } from '../api.js';
import { h, replace } from '../dom.js';

export function loginView(main, done) {
  const field = h('input', {
    id: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
    maxlength: 512,
    placeholder: 'mr_…',
  });
  const problem = h('p', { class: 'notice bad', role: 'alert', hidden: true });
  const submit = async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      setCsrf((await post('/session', { key: field.value.trim() })).csrfToken);
      field.value = '';
      await done();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  replace(
    main,
    h(
      'form',
      { class: 'card login', on: { submit } },
      h('img', { src: '/assets/icon.svg', alt: '', width: 44, height: 44 }),
      h('h1', {}, 'Millrace dead letters'),
      h(
        'p',
        { class: 'muted' },
        'Sign in with an API key. ',
        h('code', {}, 'millrace keys create'),
        ' makes one.',
      ),
      h('label', { for: 'key' }, 'API key'),
      field,
      problem,
      h('button', { class: 'primary' }, 'Sign in'),
    ),
  );
  field.focus();
}
