import { describe, expect, it } from '@jest/globals';
import { isSecretKey, redactAlso, redactText } from './index.js';
import { isSecretPattern, SECRET_RULES } from './secret-rules.js';

const b62 = (length: number): string => 'aB3dE5gH7jK9mN1pQ2'.repeat(12).slice(0, length);
const hex = (length: number): string => '0123456789abcdef'.repeat(12).slice(0, length);

// Written in pieces, so that nobody's scanner takes this file for a leak.
const EXAMPLES: Record<string, { secret: string[]; plain: string[] }> = {
  'private key': {
    secret: [
      `-----BEGIN RSA PRIVATE ${'KEY'}-----\nMIIE\n-----END RSA PRIVATE KEY-----`,
      `-----BEGIN PGP PRIVATE ${'KEY'} BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----`,
      `-----BEGIN PRIVATE ${'KEY'}-----\nMIIE cut off`,
    ],
    plain: ['-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----', 'a private key is needed'],
  },
  'URL credentials': {
    secret: ['postgres://joe:pw123@', 'redis://:p@ss@word@', 'https://token@'],
    plain: ['https://example.org/a@b', 'file:///srv/node_modules/@nestjs/core', 'http://[::1]:80/x?mail=a@b'],
  },
  'JSON web token': {
    secret: [
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij',
      'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.',
    ],
    plain: ['eyJ', 'eyJhbGciOiJIUzI1NiJ9', 'keyJob.something.else'],
  },
  'our own key': { secret: [`mr_${hex(12)}_${b62(43)}`], plain: ['mr_smith', `mr_${hex(12)}`] },
  GitHub: {
    secret: [...'pousr'].map((kind) => `gh${kind}_${b62(36)}`).concat(`github_pat_${b62(22)}_${b62(59)}`),
    plain: ['ghp_short', 'high_priority'],
  },
  GitLab: { secret: [`glpat-${b62(20)}`, `glrt-${b62(20)}`], plain: ['glpat-short', 'gldt-x'] },
  Slack: {
    secret: [
      `xoxb-${'1234567890'}-${b62(24)}`,
      `xapp-1-${b62(20)}`,
      `hooks.slack.com/services/T000/B000/${b62(24)}`,
    ],
    plain: ['xoxo', 'hooks.slack.com is down'],
  },
  Anthropic: { secret: [`sk-ant-api03-${b62(40)}`], plain: ['sk-ant-'] },
  OpenAI: {
    secret: [`sk-proj-${b62(40)}`, `sk-${b62(48)}`],
    plain: ['sk-learn', 'sk-this-is-a-long-css-class-name', 'task-force'],
  },
  Google: { secret: [`AIza${b62(35)}`, `ya29.${b62(40)}`, `GOCSPX-${b62(28)}`], plain: ['AIzawl', 'ya29'] },
  AWS: {
    secret: [`AKIA${'ABCDEFGH12345678'}`, `ASIA${'ABCDEFGH12345678'}`],
    plain: ['AKIA', `XAKIA${hex(16)}`],
  },
  Stripe: {
    secret: [`sk_live_${b62(24)}`, `rk_test_${b62(24)}`, `whsec_${b62(32)}`],
    plain: ['sk_live_', 'pk_live_x'],
  },
  npm: { secret: [`npm_${b62(36)}`], plain: ['npm_config_registry', `npm_${b62(20)}`] },
  SendGrid: { secret: [`SG.${b62(22)}.${b62(43)}`], plain: ['SG.short.x'] },
  'Hugging Face': { secret: [`hf_${b62(34)}`], plain: ['hf_hub_download'] },
  PyPI: { secret: [`pypi-${b62(80)}`], plain: ['pypi-server'] },
  bearer: { secret: ['Bearer abcdefghijkl', `authorization: bearer ${b62(20)}`], plain: ['bearer of news'] },
  'basic auth': {
    secret: [`Basic ${Buffer.from('joe:hunter2').toString('base64')}`],
    plain: ['basic authentication failed', 'Basic arithmetic'],
  },
  'name=value': {
    secret: [
      'password=hunter2',
      'db_pwd=x9!',
      '/cb?token=abc&x=1',
      'API_KEY = "zzz"',
      'accessKey=AbC',
      'client_secret=s',
      'SECRET_KEY=abc',
    ],
    plain: ['tokens=4096', 'max_token=12', 'keyboard=us', 'secret=true'],
  },
  '"name": "value"': {
    secret: ['{"password":"hunter2"}', `{'apiKey': 'k1'}`, '{\\"private_key\\":\\"abc\\"}'],
    plain: ['{"token": 7}', '{"tokens":"7"}', '{"password":null}', '{"monkey":"banana"}'],
  },
  'password: value': {
    secret: ['password: hunter2', 'Passphrase:  correct-horse', 'DB_PASSWORD: "hunter2"'],
    plain: ['passwords: four'],
  },
  'token: value': {
    secret: ['token: a1b2c3d4e5', `secret_key: "${b62(20)}"`, 'api-key: 0123456789abcdef'],
    plain: ['Unexpected token: identifier', 'max token: 12345678', 'tokens: a1b2c3d4e5'],
  },
  header: {
    secret: [
      'Cookie: session=hunter2; a=b',
      'set-cookie: sid=x9y8; Path=/',
      'X-Auth-Token: hunter',
      'x-api-key: abcd',
    ],
    plain: ['X-Request-Id: 12', 'cookies: many of them', 'x-monkey-id: 7'],
  },
  option: {
    secret: ['mysql --password hunter2 db', "--client-secret 's3'", '--token abc'],
    plain: ['--password --user joe', '--max-token 4096', '--tokenizer bpe'],
  },
  element: {
    secret: ['<password>hunter2</password>', '<wsse:Password>hunter2</wsse:Password>'],
    plain: ['<password></password>', '<tokens>many</tokens>'],
  },
  'signed address': {
    secret: ['https://b.example/x?X-Amz-Signature=abc', 'https://b.example/x?sv=1&sig=abc', '/maps?key=abc'],
    plain: ['https://b.example/?page=2&design=x', 'https://b.example/?design=blue'],
  },
};

describe('rules for secrets', () => {
  it('each have examples', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual(SECRET_RULES.map(({ name }) => name).sort());
  });

  it.each(SECRET_RULES.map(({ name }) => name))('%s: mask what is one, and only that', (name) => {
    const { secret, plain } = EXAMPLES[name] ?? { secret: [], plain: [] };
    const pattern = SECRET_RULES.find((one) => one.name === name);
    for (const text of secret) {
      const masked = redactText(`before 😀 ${text} after`);
      expect([text, masked.startsWith('before 😀 '), masked.includes('[redacted]')]).toEqual([
        text,
        true,
        true,
      ]);
      expect(pattern?.pattern.matcher(text).find()).toBe(true);
    }
    for (const text of plain) expect(redactText(`before ${text} after`)).toBe(`before ${text} after`);
  });

  it('hide whole passwords, whatever characters they hold', () => {
    expect(redactText('at redis://u:p@ss:w@rd@host:6379/0 now')).toBe(
      'at redis://[redacted]@host:6379/0 now',
    );
    expect(redactText('/cb?token=abc&page=2')).toBe('/cb?token=[redacted]&page=2');
  });

  it('can be added to, and refuse what is no pattern or matches nothing at all', () => {
    expect(['[', '(?=x)', 'a*', ''].map(isSecretPattern)).toEqual([false, false, false, false]);
    redactAlso(['emp-[0-9]{6}']);
    expect(redactText('by emp-123456')).toBe('by [redacted]');
    redactAlso([]);
    expect(redactText('by emp-123456')).toBe('by emp-123456');
  });

  // Every text is made of a beginning that a rule knows, over and over: what a backtracking matcher is slow on.
  it.each([
    'eyJ-',
    'eyJaaaaaaaa.',
    'ghp_',
    'xoxb-',
    'sk-',
    '-----BEGIN PRIVATE KEY-----',
    'a://b',
    'password',
    'token= ',
    'basic ',
    '"secret":"',
    '?sig=',
    'bearer ',
  ])('take time linear in a text of %j without end', (piece) => {
    const seconds = (length: number): number => {
      const text = piece.repeat(Math.ceil(length / piece.length));
      const begun = process.cpuUsage();
      redactText(text);
      const { user, system } = process.cpuUsage(begun);
      return (user + system) / 1e6;
    };
    seconds(20_000);
    // Forty times the text, and the budget is spent long before: a quadratic rule would need minutes.
    expect(seconds(2_000_000)).toBeLessThan(10);
  });

  it('leave out what is too much to check, and say so', () => {
    const secret = `ghp_${b62(36)}`;
    const text = `${'x '.repeat(400_000)}${secret}`;
    expect(redactText(text)).not.toContain(secret);
    expect(redactText(text)).toContain('too much to check');
    expect(redactText('x '.repeat(400_000))).toHaveLength(800_000);
  });
});

describe('names of secrets', () => {
  it.each([
    'password',
    'userPassword',
    'PASSWD',
    'passphrase',
    'pwd',
    'db_pwd',
    'dbPwd',
    'private_key',
    'privateKey',
    'accessKey',
    'AWS_SECRET_ACCESS_KEY',
    'x-api-key',
    'apikey',
    'refresh_token',
    'set-cookie',
    'clientSecret',
    'connectionString',
    'sessionId',
  ])('%s is one', (key) => expect(isSecretKey(key)).toBe(true));

  it.each([
    'tokens',
    'token_count',
    'totalTokens',
    'key',
    'keyId',
    'compass',
    'passenger',
    'monkey',
    'access_key_id',
    'signal',
    'pinned',
    'author',
  ])('%s is none', (key) => expect(isSecretKey(key)).toBe(false));
});
