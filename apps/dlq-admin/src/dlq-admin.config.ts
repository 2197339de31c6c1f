import { Choice, Flag, Int, List, OPTIONAL, QueueName, Secret, Text, Url } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';
import { isAlertRule } from './alerts/rules.js';

export class DlqAdminServiceConfig extends ServiceConfig {
  @Int('Port to serve on. 0 takes a free one and logs it.', 8080, [0, 65_535])
  declare PORT: number;
}

/** What dlq-admin is told besides: access, limits, requeues, alerts. */
export class DlqAdminConfig {
  @Secret(
    'An admin key from outside, besides those in the database: at least 24 characters, such as `openssl rand -base64 32`.',
    OPTIONAL,
    {
      matches: /^(?!(.)\1*$)[\x21-\x7e]{24,}$/,
      must: 'at least 24 printable characters without spaces, not one repeated; make one with openssl rand -base64 32',
    },
  )
  ADMIN_KEY?: string;

  @Secret(
    'Seals the audit log: its rows carry a hash that only holders of this key can make. Keep it out of the database, and for good.',
    OPTIONAL,
    {
      matches: /^[\x21-\x7e]{24,}$/,
      must: 'at least 24 printable characters; make one with openssl rand -base64 32',
    },
  )
  AUDIT_KEY?: string;

  @Text('Issuer of signed tokens (OpenID Connect) that are taken besides keys. Off unless given.', OPTIONAL, {
    matches: /^https?:\/\/\S+$/,
    must: 'the `iss` of your identity provider, an address',
  })
  OIDC_ISSUER?: string;

  @Text('Where the public keys of that issuer are (JWKS). https, or loopback.', OPTIONAL, {
    matches: /^(https:\/\/|http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/])\S+$/,
    must: 'an https address',
  })
  OIDC_JWKS_URL?: string;

  @Text('Audience that a token must be for.', 'millrace')
  OIDC_AUDIENCE!: string;

  @Text('Claim of a token that holds viewer, operator or admin.', 'millrace_role')
  OIDC_ROLE_CLAIM!: string;

  @Choice(
    '`on`: every request needs a key. `off`: everybody on this machine is admin; loopback addresses only.',
    'on',
    ['on', 'off'],
  )
  AUTH!: 'on' | 'off';

  @Int('Reverse proxies in front, whose X-Forwarded-For is believed. 0: none.', 0, [0, 10])
  TRUST_PROXY_HOPS!: number;

  @Int('Milliseconds a browser stays signed in.', 8 * 3_600_000, [60_000, 30 * 86_400_000])
  SESSION_TTL_MS!: number;

  @Int('Requests a minute that one key, or one address, may make.', 1_200, [10, 1_000_000])
  RATE_LIMIT_PER_MINUTE!: number;

  @Int('Requeues of one letter before it is refused; editing the payload starts anew.', 5, [1, 1_000])
  MAX_REPLAYS!: number;

  @Int('Letters that one bulk action may select.', 1_000_000, [1, 10_000_000])
  MAX_BULK_LETTERS!: number;

  @Int(
    'Letters above which a bulk discard waits, for a day, until another key approves it. Never unless given.',
    OPTIONAL,
    [0, 10_000_000],
  )
  DISCARD_APPROVAL_ABOVE?: number;

  @Int(
    'Milliseconds a canary step may take to settle before the bulk action stops.',
    300_000,
    [1_000, 86_400_000],
  )
  CANARY_TIMEOUT_MS!: number;

  @List(
    'Payload fields to mask before storing, besides those that look like secrets: paths such as `user.email`, `*` for any key.',
    [],
    {
      each: (path) => /^[^.\s]{1,100}(\.[^.\s]{1,100}){0,20}$/.test(path),
      must: 'a path such as user.email',
    },
  )
  REDACT_PATHS!: string[];

  @List(
    'Alert rules `<depth|rate|age>[@queue]>raise/resolve`: open letters, arrivals a minute, oldest in seconds.',
    ['depth>100/50'],
    {
      each: isAlertRule,
      must: 'depth>100/50, rate@some-queue>60/10 or age>3600/600, resolve not above raise',
    },
  )
  ALERT_RULES!: string[];

  @Int('Milliseconds between two samples of depth, arrival rate and age.', 15_000, [100, 3_600_000])
  SAMPLE_INTERVAL_MS!: number;

  @Url('Where alerts are posted. https only.', OPTIONAL, ['https'])
  ALERT_WEBHOOK_URL?: string;

  @Secret('Signs alerts: HMAC-SHA-256 over `<timestamp>.<body>`, in X-Millrace-Signature.', OPTIONAL, {
    matches: /^.{16,}$/s,
    must: 'at least 16 characters',
  })
  ALERT_WEBHOOK_SECRET?: string;

  @Flag('Whether the webhook may be in a private network or on this machine. Link-local never may.', false)
  ALERT_WEBHOOK_ALLOW_PRIVATE!: boolean;

  @Text('Where a trace is looked at, with `{traceId}` in its place: letters link to it.', OPTIONAL, {
    matches: /^https?:\/\/\S*\{traceId\}\S*$/,
    must: 'an address that holds {traceId}, such as https://jaeger.example/trace/{traceId}',
  })
  TRACE_URL?: string;

  @QueueName('Queue of file jobs, whose payloads are checked by their contract.', QUEUE.filesToBatch)
  PATH_DISCOVERY_QUEUE!: string;

  @QueueName('Queue of batch events, whose payloads are checked by their contract.', QUEUE.fileAnalysis)
  ANALYSIS_QUEUE!: string;
}

export const config = {
  service: DlqAdminServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  admin: DlqAdminConfig,
};
