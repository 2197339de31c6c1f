import {
  IsBoolean,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import { Key } from '#config';
import { QUEUE } from '#contracts';
import { DatabaseConfig } from '#database';
import { RedisConfig } from '#redis';
import { ServiceConfig } from '#service';
import { isAlertRule } from './alerts/rules.js';
import { Each } from './http/each.js';

export class DlqAdminServiceConfig extends ServiceConfig {
  @Key({ meaning: 'Port to serve on. 0 takes a free one and logs it.', default: 8080 })
  declare PORT: number;
}

/** What dlq-admin is told besides: access, limits, redrive, alerts. */
export class DlqAdminConfig {
  @Key({
    meaning:
      'An admin key from outside, besides those in the database: at least 24 characters, such as `openssl rand -base64 32`.',
    optional: true,
    secret: true,
  })
  @IsOptional()
  @MinLength(24, {
    message: '$property must have at least 24 characters; make one with openssl rand -base64 32',
  })
  @Matches(/^(?!(.)\1*$)[\x21-\x7e]+$/, {
    message: '$property must be printable, without spaces, and not one character repeated',
  })
  ADMIN_KEY?: string;

  @Key({
    meaning:
      '`on`: every request needs a key. `off`: everybody on this machine is admin; loopback addresses only.',
    default: 'on',
  })
  @IsIn(['on', 'off'])
  AUTH!: 'on' | 'off';

  @Key({ meaning: 'Reverse proxies in front, whose X-Forwarded-For is believed. 0: none.', default: 0 })
  @IsInt()
  @Min(0)
  @Max(10)
  TRUST_PROXY_HOPS!: number;

  @Key({ meaning: 'Milliseconds a browser stays signed in.', default: 8 * 3_600_000 })
  @IsInt()
  @Min(60_000)
  @Max(30 * 86_400_000)
  SESSION_TTL_MS!: number;

  @Key({ meaning: 'Requests a minute that one key, or one address, may make.', default: 1_200 })
  @IsInt()
  @Min(10)
  @Max(1_000_000)
  RATE_LIMIT_PER_MINUTE!: number;

  @Key({
    meaning: 'Redrives of one letter before it is refused; editing the payload starts anew.',
    default: 5,
  })
  @IsInt()
  @Min(1)
  @Max(1_000)
  MAX_REPLAYS!: number;

  @Key({ meaning: 'Letters that one bulk action may select.', default: 1_000_000 })
  @IsInt()
  @Min(1)
  @Max(10_000_000)
  MAX_BULK_LETTERS!: number;

  @Key({
    meaning: 'Milliseconds a canary step may take to settle before the bulk action stops.',
    default: 300_000,
  })
  @IsInt()
  @Min(1_000)
  @Max(86_400_000)
  CANARY_TIMEOUT_MS!: number;

  @Key({
    meaning:
      'Payload fields to mask before storing, besides those that look like secrets: paths such as `user.email`, `*` for any key.',
    kind: 'list',
    default: [],
  })
  @Each((item) => /^[^.\s]{1,100}(\.[^.\s]{1,100}){0,20}$/.test(item), 'a path such as user.email')
  REDACT_PATHS!: string[];

  @Key({
    meaning:
      'Alert rules `<depth|rate|age>[@queue]>raise/resolve`: open letters, arrivals a minute, oldest in seconds.',
    kind: 'list',
    default: ['depth>100/50'],
  })
  @Each(isAlertRule, 'depth>100/50, rate@some-queue>60/10 or age>3600/600, resolve not above raise')
  ALERT_RULES!: string[];

  @Key({ meaning: 'Milliseconds between two samples of depth, arrival rate and age.', default: 15_000 })
  @IsInt()
  @Min(100)
  @Max(3_600_000)
  SAMPLE_INTERVAL_MS!: number;

  @Key({ meaning: 'Where alerts are posted. https only.', optional: true, secret: 'url' })
  @IsOptional()
  @IsUrl({ protocols: ['https'], require_tld: false }, { message: '$property must be an https URL' })
  ALERT_WEBHOOK_URL?: string;

  @Key({
    meaning: 'Signs alerts: HMAC-SHA-256 over `<timestamp>.<body>`, in X-Millrace-Signature.',
    optional: true,
    secret: true,
  })
  @IsOptional()
  @IsString()
  @MinLength(16)
  ALERT_WEBHOOK_SECRET?: string;

  @Key({
    meaning: 'Whether the webhook may be in a private network or on this machine. Link-local never may.',
    default: false,
  })
  @IsBoolean()
  ALERT_WEBHOOK_ALLOW_PRIVATE!: boolean;

  @Key({
    meaning: 'Queue of file jobs, whose payloads are checked by their contract.',
    default: QUEUE.filesToBatch,
  })
  @IsString()
  PATH_DISCOVERY_QUEUE!: string;

  @Key({
    meaning: 'Queue of batch events, whose payloads are checked by their contract.',
    default: QUEUE.fileAnalysis,
  })
  @IsString()
  ANALYSIS_QUEUE!: string;
}

export const config = {
  service: DlqAdminServiceConfig,
  redis: RedisConfig,
  database: DatabaseConfig,
  admin: DlqAdminConfig,
};
