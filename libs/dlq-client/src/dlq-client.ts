import { randomUUID } from 'node:crypto';
import type { AlertView, AuditRow, BulkAction, BulkPreview, DeadEvent, Group, KeyView } from './answers.js';
import type { BatchView, DelayedJobView, FileView, PipelineView, QueueView, Stats } from './answers.js';
import type { LetterDetail, LetterSummary, NewKey, Problem, SignInCode } from './answers.js';
import type { BulkKind, BulkRequest, GroupChange, LetterFilter, NewKeyRequest, Page } from './api.js';
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

  letters = (filter: LetterFilter = {}, page: Paging = {}): Promise<Page<LetterSummary>> =>
    this.get('/dead-letters', { ...filterQuery(filter), ...page });
  letter = (id: number): Promise<LetterDetail> => this.get(`/dead-letters/${id}`);
  change = (id: number, what: BulkKind, note?: string): Promise<LetterSummary> =>
    this.post(`/dead-letters/${id}/${what}`, { note });

  async count(filter: LetterFilter = {}): Promise<{ count: number; exact: boolean }> {
    const { headers } = await this.send('HEAD', '/dead-letters', { query: filterQuery(filter) });
    return {
      count: Number(headers.get('x-total-count')),
      exact: headers.get('x-total-count-exact') === 'true',
    };
  }

  editPayload(id: number, version: number, payload: unknown, note?: string): Promise<LetterDetail> {
    const headers = { 'if-match': `"${version}"` };
    return this.json('PATCH', `/dead-letters/${id}/payload`, { body: { payload, note }, headers });
  }

  groups = (page: Paging & { status?: 'open' | 'any' } = {}): Promise<Page<Group>> =>
    this.get('/groups', page);
  group = (id: string): Promise<Group> => this.get(at`/groups/${id}`);
  changeGroup = (id: string, change: GroupChange): Promise<Group> =>
    this.json('PATCH', at`/groups/${id}`, { body: change });
  /** Makes two causes one; letters to come go there as well. */
  mergeGroup = (id: string, into: string, note?: string): Promise<Group> =>
    this.post(at`/groups/${id}/merge`, { into, note });
  /** Makes a group of each value of a field; letters to come go there as well. */
  splitGroup = (id: string, field: string, note?: string): Promise<Page<Group>> =>
    this.post(at`/groups/${id}/split`, { field, note });

  preview = (request: BulkRequest): Promise<BulkPreview> =>
    this.post('/bulk-actions', { ...request, dryRun: true });
  startBulk = (request: BulkRequest): Promise<BulkAction> =>
    this.post('/bulk-actions', { ...request, dryRun: false });
  bulkActions = (page: Paging = {}): Promise<Page<BulkAction>> => this.get('/bulk-actions', page);
  bulkAction = (id: string): Promise<BulkAction> => this.get(at`/bulk-actions/${id}`);
  abort = (id: string): Promise<BulkAction> => this.post(at`/bulk-actions/${id}/abort`);
  /** Goes on, as another action, with what a stopped or aborted one has left. */
  continueBulk = (id: string, note?: string): Promise<BulkAction> =>
    this.post(at`/bulk-actions/${id}/continue`, { note });
  approve = (id: string, note?: string): Promise<BulkAction> =>
    this.post(at`/bulk-actions/${id}/approve`, { note });

  stats = (): Promise<Stats> => this.get('/stats');
  acknowledge = (rule: string, note?: string): Promise<AlertView> =>
    this.post('/alerts/acknowledge', { rule, note });
  deadEvents = (page: Paging = {}): Promise<Page<DeadEvent>> => this.get('/dead-events', page);
  requeueEvent = (id: string): Promise<{ id: string; revived: boolean }> =>
    this.post(at`/dead-events/${id}/revive`);
  audit = (page: Paging & { target?: string } = {}): Promise<Page<AuditRow>> => this.get('/audit', page);

  pipeline = (): Promise<PipelineView> => this.get('/pipeline');
  file = (id: number): Promise<FileView> => this.get(`/files/${id}`);
  fileAt = (path: string): Promise<FileView> => this.get('/files', { path });
  batch = (id: string): Promise<BatchView> => this.get(at`/batches/${id}`);
  queues = (): Promise<Page<QueueView>> => this.get('/queues');
  /** Pauses a queue for all workers, or lets them go on. */
  setPaused = (queue: string, paused: boolean, note?: string): Promise<QueueView> =>
    this.post(at`/queues/${queue}/${paused ? 'pause' : 'resume'}`, { note });
  delayed = (queue: string, limit?: number): Promise<Page<DelayedJobView>> =>
    this.get(at`/queues/${queue}/delayed`, { limit });
  /** Makes a delayed job due now. */
  promote = (queue: string, job: string): Promise<{ job: string; promoted: boolean }> =>
    this.post(at`/queues/${queue}/promote`, { job });

  keys = (): Promise<Page<KeyView>> => this.get('/keys');
  createKey = (request: NewKeyRequest): Promise<NewKey> => this.post('/keys', request);
  revokeKey = (id: string): Promise<KeyView> => this.post(at`/keys/${id}/revoke`);
  /** A code that signs a browser in once, as this client's key. */
  signInCode = (): Promise<SignInCode> => this.post('/session/codes');

  private get<T>(path: string, query: Call['query'] = {}): Promise<T> {
    return this.json('GET', path, { query });
  }

  private post<T>(path: string, body: object = {}): Promise<T> {
    return this.json('POST', path, { body });
  }

  private async json<T>(method: string, path: string, call: Call): Promise<T> {
    const reply = await this.send(method, path, call);
    return (await reply.json()) as T;
  }

  private async send(method: string, path: string, { query = {}, body, headers }: Call): Promise<Response> {
    const { url: base, key, timeoutMs = 30_000 } = this.options;
    const url = new URL(`/api/v1${path}`, base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const reply = await fetch(url, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept: 'application/json',
        'x-millrace-client': '1',
        ...(key && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && method !== 'HEAD' && { 'idempotency-key': randomUUID() }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new DlqUnreachableError(base, error);
    });
    if (!reply.ok) throw new DlqProblemError(await problemOf(reply));
    return reply;
  }
}

/** A path whose parts may hold anything. */
const at = (texts: TemplateStringsArray, ...parts: string[]): string =>
  String.raw({ raw: texts }, ...parts.map(encodeURIComponent));

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
