import { randomUUID } from 'node:crypto';
import type {
  AuditRow,
  BatchView,
  BulkAction,
  BulkPreview,
  DeadEvent,
  DelayedJobView,
  FileView,
  AlertView,
  Group,
  KeyView,
  LetterDetail,
  LetterSummary,
  NewKey,
  PipelineView,
  Problem,
  QueueView,
  SignInCode,
  Stats,
} from './answers.js';
import type { BulkRequest, GroupChange, LetterFilter, NewKeyRequest, Page } from './api.js';
import { DlqProblemError, DlqUnreachableError } from './dlq-client.errors.js';

interface DlqClientOptions {
  /** Where dlq-admin is, such as `http://127.0.0.1:8080`. */
  url: string;
  /** An API key; without one only a dlq-admin on loopback with AUTH=off answers. */
  key?: string;
  timeoutMs?: number;
}

interface Call {
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
}

type Paging = { cursor?: string; limit?: number };

/**
 * dlq-admin's REST interface as typed calls. Every change carries an idempotency key, so a caller may repeat one whose
 * answer was lost. Throws DlqProblemError when refused, DlqUnreachableError when there is no answer.
 */
export class DlqClient {
  constructor(private readonly options: DlqClientOptions) {}

  letters(filter: LetterFilter = {}, page: Paging = {}): Promise<Page<LetterSummary>> {
    return this.json('GET', '/dead-letters', { query: { ...filterQuery(filter), ...page } });
  }

  async count(filter: LetterFilter = {}): Promise<{ count: number; exact: boolean }> {
    const reply = await this.send('HEAD', '/dead-letters', { query: filterQuery(filter) });
    return {
      count: Number(reply.headers.get('x-total-count')),
      exact: reply.headers.get('x-total-count-exact') === 'true',
    };
  }

  letter(id: number): Promise<LetterDetail> {
    return this.json('GET', `/dead-letters/${id}`);
  }

  editPayload(id: number, version: number, payload: unknown, note?: string): Promise<LetterDetail> {
    return this.json('PATCH', `/dead-letters/${id}/payload`, {
      body: { payload, ...(note && { note }) },
      headers: { 'if-match': `"${version}"` },
    });
  }

  change(id: number, what: 'requeue' | 'discard' | 'restore', note?: string): Promise<LetterSummary> {
    return this.json('POST', `/dead-letters/${id}/${what}`, { body: note ? { note } : {} });
  }

  groups(page: Paging & { status?: 'open' | 'any' } = {}): Promise<Page<Group>> {
    return this.json('GET', '/groups', { query: page });
  }

  group(id: string): Promise<Group> {
    return this.json('GET', `/groups/${encodeURIComponent(id)}`);
  }

  changeGroup(id: string, change: GroupChange): Promise<Group> {
    return this.json('PATCH', `/groups/${encodeURIComponent(id)}`, { body: change });
  }

  /** Makes two causes one; letters to come go there as well. */
  mergeGroup(id: string, into: string, note?: string): Promise<Group> {
    return this.json('POST', `/groups/${encodeURIComponent(id)}/merge`, { body: { into, note } });
  }

  /** Makes a group of each value of a field; letters to come go there as well. */
  splitGroup(id: string, field: string, note?: string): Promise<Page<Group>> {
    return this.json('POST', `/groups/${encodeURIComponent(id)}/split`, { body: { field, note } });
  }

  acknowledge(rule: string, note?: string): Promise<AlertView> {
    return this.json('POST', '/alerts/acknowledge', { body: { rule, note } });
  }

  preview(request: BulkRequest): Promise<BulkPreview> {
    return this.json('POST', '/bulk-actions', { body: { ...request, dryRun: true } });
  }

  startBulk(request: BulkRequest): Promise<BulkAction> {
    return this.json('POST', '/bulk-actions', { body: { ...request, dryRun: false } });
  }

  bulkActions(page: Paging = {}): Promise<Page<BulkAction>> {
    return this.json('GET', '/bulk-actions', { query: page });
  }

  bulkAction(id: string): Promise<BulkAction> {
    return this.json('GET', `/bulk-actions/${encodeURIComponent(id)}`);
  }

  abort(id: string): Promise<BulkAction> {
    return this.json('POST', `/bulk-actions/${encodeURIComponent(id)}/abort`, { body: {} });
  }

  /** Goes on, as another action, with what a stopped or aborted one has left. */
  continueBulk(id: string, note?: string): Promise<BulkAction> {
    return this.json('POST', `/bulk-actions/${encodeURIComponent(id)}/continue`, { body: { note } });
  }

  approve(id: string, note?: string): Promise<BulkAction> {
    return this.json('POST', `/bulk-actions/${encodeURIComponent(id)}/approve`, { body: { note } });
  }

  stats(): Promise<Stats> {
    return this.json('GET', '/stats');
  }

  deadEvents(page: Paging = {}): Promise<Page<DeadEvent>> {
    return this.json('GET', '/dead-events', { query: page });
  }

  reviveEvent(id: string): Promise<{ id: string; revived: boolean }> {
    return this.json('POST', `/dead-events/${encodeURIComponent(id)}/revive`, { body: {} });
  }

  audit(page: Paging & { target?: string } = {}): Promise<Page<AuditRow>> {
    return this.json('GET', '/audit', { query: page });
  }

  keys(): Promise<Page<KeyView>> {
    return this.json('GET', '/keys');
  }

  createKey(request: NewKeyRequest): Promise<NewKey> {
    return this.json('POST', '/keys', { body: request });
  }

  pipeline(): Promise<PipelineView> {
    return this.json('GET', '/pipeline');
  }

  file(id: number): Promise<FileView> {
    return this.json('GET', `/files/${id}`);
  }

  fileAt(path: string): Promise<FileView> {
    return this.json('GET', '/files', { query: { path } });
  }

  batch(id: string): Promise<BatchView> {
    return this.json('GET', `/batches/${encodeURIComponent(id)}`);
  }

  queues(): Promise<Page<QueueView>> {
    return this.json('GET', '/queues');
  }

  /** Pauses a queue for all workers, or lets them go on. */
  setPaused(queue: string, paused: boolean, note?: string): Promise<QueueView> {
    const what = paused ? 'pause' : 'resume';
    return this.json('POST', `/queues/${encodeURIComponent(queue)}/${what}`, { body: { note } });
  }

  delayed(queue: string, limit?: number): Promise<Page<DelayedJobView>> {
    return this.json('GET', `/queues/${encodeURIComponent(queue)}/delayed`, { query: { limit } });
  }

  /** Makes a delayed job due now. */
  promote(queue: string, job: string): Promise<{ job: string; promoted: boolean }> {
    return this.json('POST', `/queues/${encodeURIComponent(queue)}/promote`, { body: { job } });
  }

  /** A code that signs a browser in once, as this client's key. */
  signInCode(): Promise<SignInCode> {
    return this.json('POST', '/session/codes', { body: {} });
  }

  revokeKey(id: string): Promise<KeyView> {
    return this.json('POST', `/keys/${encodeURIComponent(id)}/revoke`, { body: {} });
  }

  private async json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const reply = await this.send(method, path, call);
    return (await reply.json()) as T;
  }

  private async send(method: string, path: string, call: Call): Promise<Response> {
    const url = new URL(`/api/v1${path}`, this.options.url);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const reply = await this.fetch(url, method, call);
    if (!reply.ok) throw new DlqProblemError(await problemOf(reply));
    return reply;
  }

  private async fetch(url: URL, method: string, call: Call): Promise<Response> {
    try {
      return await fetch(url, {
        method,
        redirect: 'error',
        signal: AbortSignal.timeout(this.options.timeoutMs ?? 30_000),
        headers: { ...this.headers(method, call), ...call.headers },
        ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      });
    } catch (error) {
      throw new DlqUnreachableError(this.options.url, error);
    }
  }

  private headers(method: string, call: Call): Record<string, string> {
    return {
      accept: 'application/json',
      'x-millrace-client': '1',
      ...(this.options.key && { authorization: `Bearer ${this.options.key}` }),
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && method !== 'HEAD' && { 'idempotency-key': randomUUID() }),
    };
  }
}

/** A filter as query parameters; payload fields become `payload.<path>`. */
function filterQuery({ payload, ...filter }: LetterFilter): Record<string, string | number | undefined> {
  const fields = Object.entries(payload ?? {}).map(([path, value]) => [`payload.${path}`, value] as const);
  return { ...filter, ...Object.fromEntries(fields) };
}

async function problemOf(reply: Response): Promise<Problem> {
  const fallback = {
    type: 'about:blank',
    title: reply.statusText,
    status: reply.status,
    detail: `dlq-admin answered ${reply.status} ${reply.statusText}`,
    code: `HTTP_${reply.status}`,
  };
  try {
    return { ...fallback, ...((await reply.json()) as Partial<Problem>) };
  } catch {
    return fallback;
  }
}
