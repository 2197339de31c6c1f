import { RE2JS } from 're2js';

/** A shape of secrets in texts. What is in groups, one before and one after, stays; the rest is masked. */
export class SecretRule {
  /** In lower case; a text without any of them cannot match, and most texts have none. */
  readonly hints: readonly string[];
  private compiled: RE2JS | undefined;

  constructor(
    readonly name: string,
    hints: string,
    private readonly source: string,
    /** Looks closer where the shape alone would take too much. */
    readonly isSecret?: (found: string) => boolean,
  ) {
    this.hints = hints.split(' ');
  }

  // RE2 takes time linear in the text, whatever the text: these are read by everybody who can make a job fail. Compiled at
  // need: all of them take a tenth of a start, and most processes meet no text that could match.
  get pattern(): RE2JS {
    return (this.compiled ??= RE2JS.compile(this.source));
  }
}

const rule = (...of: ConstructorParameters<typeof SecretRule>): SecretRule => new SecretRule(...of);

const { raw } = String;
const NAME = raw`(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|account|private|secret|signing|shared|master|encryption)[-_]?key|credentials?)`;
// What a text holds that has one of these names.
const NAMES = 'passw passphrase pwd secret token key credential';
const VALUE = raw`[^\s&;,"'<>\[\]{}]+`;

/** Well-known shapes. The specification has, for each, examples that must be masked and others that must not. */
export const SECRET_RULES: readonly SecretRule[] = [
  rule(
    'private key',
    'private key',
    raw`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`,
  ),
  rule('URL credentials', '://', raw`(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/?#]*(@)`),
  rule('JSON web token', 'eyj', raw`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`),
  rule('our own key', 'mr_', raw`\bmr_[0-9a-f]{12}_[\w-]{43}`),
  rule('GitHub', 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_', raw`\b(?:gh[pousr]_\w{36,}|github_pat_\w{22,})`),
  rule(
    'GitLab',
    'glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas-',
    raw`\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[\w.-]{20,}`,
  ),
  rule(
    'Slack',
    'xox xapp- hooks.slack.com',
    raw`\b(?:xox[abceoprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|hooks\.slack\.com/[\w/-]{20,})`,
  ),
  rule('Anthropic', 'sk-ant-', raw`\bsk-ant-[\w-]{20,}`),
  rule('OpenAI', 'sk-', raw`\bsk-(?:proj-|svcacct-|admin-)?[\w-]{20,}`, (found) => /\d/.test(found)),
  rule('Google', 'aiza ya29. gocspx-', raw`\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,})`),
  rule('AWS', 'akia asia abia acca', raw`\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b`),
  rule(
    'Stripe',
    'sk_live_ sk_test_ rk_live_ rk_test_ whsec_',
    raw`\b(?:[sr]k_(?:live|test)_\w{10,}|whsec_[\w+/=]{20,})`,
  ),
  rule('npm', 'npm_', raw`\bnpm_[A-Za-z0-9]{36}\b`),
  rule('SendGrid', 'sg.', raw`\bSG\.[\w-]{16,}\.[\w-]{16,}`),
  rule('Hugging Face', 'hf_', raw`\bhf_[A-Za-z0-9]{30,}`),
  rule('PyPI', 'pypi-', raw`\bpypi-[\w-]{50,}`),
  rule('bearer', 'bearer', raw`(?i)\b(bearer\s+)[\w.~+/=-]{8,}`),
  rule('basic auth', 'basic', raw`(?i)\b(basic\s+)[a-z0-9+/]{6,}={0,2}`, isCredentials),
  rule('name=value', NAMES, raw`(?i)(${NAME}\s*=\s*["']?)${VALUE}`, isNoCount),
  rule('"name": "value"', NAMES, raw`(?i)(${NAME}\\?["']\s*:\s*\\?["'])[^"'\\]+`, isNoCount),
  rule(
    'password: value',
    'passw passphrase pwd',
    raw`(?i)((?:passw(?:or)?d|passphrase|pwd)\s*:\s+["']?)[^\s"',;]{4,}`,
    isNoCount,
  ),
  rule(
    'token: value',
    'secret token key credential',
    raw`(?i)(${NAME}\s*:\s+["']?)[^\s"',;]{8,}`,
    (found) => /\d/.test(found) && /[a-z]/i.test(found),
  ),
  rule(
    'header',
    'cookie authorization x-',
    raw`(?i)\b((?:(?:set-)?cookie|(?:proxy-)?authorization|x-[\w-]{0,40}(?:key|token|secret|auth))\s*:\s+)[^\r\n"']{4,}`,
  ),
  rule('option', '--', raw`(?i)(--[\w-]{0,40}${NAME}\s+["']?)[^\s"'-][^\s"']*`, isNoCount),
  rule('element', '</', raw`(?i)(<[\w:-]{0,40}${NAME}>)[^<]+(</)`, isNoCount),
  rule(
    'signed address',
    'sig= signature= credential= key= code= auth=',
    raw`(?i)([?&](?:[\w-]{0,40}signature|x-amz-credential|sig|key|code|auth)=)[^\s&#"'<>]+`,
  ),
];

/** A rule of somebody's own: all that the pattern (RE2 syntax) matches is masked. */
export const ownRule = (pattern: string): SecretRule => rule(pattern, '', pattern);

export function isSecretPattern(pattern: string): boolean {
  try {
    // What matches nothing at all would mask everywhere.
    return !RE2JS.compile(pattern).matcher('').find();
  } catch {
    return false;
  }
}

// `Basic` is also a word; what follows it in a header is `user:password` in Base64.
function isCredentials(found: string): boolean {
  return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(Buffer.from(found, 'base64').toString('latin1'));
}

// A token is also what a text is counted in.
function isNoCount(found: string): boolean {
  return !/^(\d{1,9}|true|false|null|undefined|\[redacted\].*)$/i.test(found);
}
