import { createHmac } from 'node:crypto';
import { lookup as resolveName } from 'node:dns/promises';
import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Processor } from '@nestjs/bullmq';
import ipaddr from 'ipaddr.js';
import { ANY_PAYLOAD, done, giveUp, JobProcessor, type JobContext, type JobOutcome } from '#queue-manager';
import { Metrics, MillraceError, UP, type Health } from '#service';
import { DlqAdminConfig } from '../dlq-admin.config.js';

export const ALERTS_QUEUE = 'dlq-alerts-queue';

/** Delivers alerts to the webhook. They wait in the outbox and the queue, are tried again with backoff, and hold up nothing. */
@Processor(ALERTS_QUEUE)
export class AlertWebhook extends JobProcessor<unknown> {
  readonly name = 'alert webhook';
  protected readonly contract = ANY_PAYLOAD;
  private readonly sent;

  constructor(
    private readonly config: DlqAdminConfig,
    metrics: Metrics,
  ) {
    super();
    this.sent = metrics.counter({
      name: 'millrace_dlq_alert_webhooks_total',
      help: 'Alerts posted to the webhook.',
      labels: ['outcome'],
    });
    this.sent.inc({ outcome: 'failed' }, 0);
  }

  override async start(): Promise<void> {
    if (this.config.ALERT_WEBHOOK_URL) await super.start();
  }

  override health(): Health {
    return this.config.ALERT_WEBHOOK_URL ? super.health() : UP;
  }

  async process(payload: unknown, { jobId }: JobContext): Promise<JobOutcome> {
    const {
      ALERT_WEBHOOK_URL: url,
      ALERT_WEBHOOK_SECRET: secret,
      ALERT_WEBHOOK_ALLOW_PRIVATE: allowPrivate,
    } = this.config;
    try {
      await postWebhook(payload as object, jobId, { url: url ?? '', secret, allowPrivate });
      this.sent.inc({ outcome: 'accepted' });
      return done;
    } catch (error) {
      this.sent.inc({ outcome: 'failed' });
      if (error instanceof ForbiddenAddressError) return giveUp(error);
      throw error;
    }
  }
}

/** The webhook address is not one that may be called; no retry can help. */
export class ForbiddenAddressError extends MillraceError {
  readonly code = 'WEBHOOK_FORBIDDEN';

  constructor(why: string) {
    super(`ALERT_WEBHOOK_URL may not be called: ${why}`);
  }
}

export class WebhookFailedError extends MillraceError {
  readonly code = 'WEBHOOK_FAILED';

  constructor(why: string, cause?: unknown) {
    super(`the alert webhook was not accepted: ${why}`, { cause });
  }
}

interface Webhook {
  url: string;
  secret?: string;
  allowPrivate: boolean;
  timeoutMs?: number;
  /** For tests, which have no certificate. */
  schemes?: readonly string[];
  resolve?: (host: string) => Promise<string[]>;
  now?: () => number;
}

const TIMEOUT_MS = 5_000;
const MAX_REPLY = 65_536;

/** `t=<seconds>,v1=<hex>`: HMAC-SHA-256 of `<seconds>.<body>`, so that neither body nor time can be changed. */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}

/**
 * Posts one alert. The name is resolved once and the connection goes to the very address that was checked; redirects are
 * not followed; time and reply are bounded, and the reply is never shown.
 */
export async function postWebhook(payload: object, id: string, options: Webhook): Promise<void> {
  const url = new URL(options.url);
  if (!(options.schemes ?? ['https:']).includes(url.protocol))
    throw new ForbiddenAddressError('only https is allowed');
  if (url.username || url.password)
    throw new ForbiddenAddressError('credentials in the address are not allowed');
  const address = await checkedAddress(url.hostname, options);
  const body = JSON.stringify(payload);
  const seconds = Math.floor((options.now?.() ?? Date.now()) / 1_000);
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'millrace-dlq-admin',
    'idempotency-key': id,
    ...(options.secret && { 'x-millrace-signature': signatureOf(options.secret, seconds, body) }),
  };
  const status = await send(url, address, body, { headers, timeoutMs: options.timeoutMs ?? TIMEOUT_MS });
  if (status < 200 || status > 299) throw new WebhookFailedError(`status ${status}`);
}

async function checkedAddress(hostname: string, options: Webhook): Promise<string> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : await (options.resolve ?? resolveAll)(host);
  const [first] = addresses;
  if (first === undefined) throw new WebhookFailedError('its name has no address');
  // All of them: one good address among bad ones is how a rebinding name looks.
  if (!addresses.every((address) => mayCall(address, options)))
    throw new ForbiddenAddressError('its name leads to an address that is private, link-local or reserved');
  return first;
}

async function resolveAll(host: string): Promise<string[]> {
  try {
    return (await resolveName(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    throw new WebhookFailedError('its name cannot be resolved', error);
  }
}

function send(
  url: URL,
  address: string,
  body: string,
  { headers, timeoutMs }: { headers: Record<string, string>; timeoutMs: number },
): Promise<number> {
  const found = { address, family: isIP(address) };
  const lookup: LookupFunction = (_host, { all }, done) =>
    all ? done(null, [found]) : done(null, address, found.family);
  // Over all, not per packet: a server that dribbles does not hold us.
  const signal = AbortSignal.timeout(timeoutMs);
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = open(url, { method: 'POST', headers, lookup, agent: false, signal });
  // Whoever waits for the reply, or reads it, hears of it as well.
  request.on('error', () => {}).end(body);
  return statusOf(request).catch((error: Error) => {
    const why = signal.aborted ? `no answer within ${timeoutMs} ms` : error.message;
    throw new WebhookFailedError(why, error);
  });
}

async function statusOf(request: ClientRequest): Promise<number> {
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  let size = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_REPLY) throw new Error('its reply is too long');
  }
  return reply.statusCode ?? 0;
}

/** Reachable only when private addresses are allowed; whatever else is not plain unicast is never reachable. */
const PRIVATE = new Set(['private', 'loopback', 'carrierGradeNat', 'uniqueLocal']);
// Metadata services of clouds that lie in private ranges.
const METADATA = ['fd00:ec2::/32', '100.100.100.200/32'].map((range) => ipaddr.parseCIDR(range));

/**
 * Whether a request may go to this address. An IPv4 address inside an IPv6 one (mapped, compatible, translated, tunnelled)
 * is judged as what it is where it is only another way of writing, and refused where it leads through a gateway.
 */
export function mayCall(address: string, { allowPrivate }: { allowPrivate: boolean }): boolean {
  if (!ipaddr.isValid(address) || address.includes('%')) return false;
  const plain = unwrapped(ipaddr.parse(address));
  if (METADATA.some((range) => plain.kind() === range[0].kind() && plain.match(range))) return false;
  const range = plain.range();
  return range === 'unicast' || (allowPrivate && PRIVATE.has(range));
}

function unwrapped(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!(address instanceof ipaddr.IPv6)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  const bytes = address.toByteArray();
  // `::a.b.c.d` and `::ffff:0:a.b.c.d`; `::` and `::1` are themselves.
  const isCompatible = bytes
    .slice(0, 12)
    .every((byte, at) => byte === 0 || (byte === 255 && (at === 8 || at === 9)));
  return isCompatible && bytes.slice(12, 15).some((byte) => byte > 0)
    ? new ipaddr.IPv4(bytes.slice(12))
    : address;
}
