import type { OpenAPIObject } from '@nestjs/swagger';
import { ref, SCHEMAS, type Schema } from '#dlq-client';

type SchemaName = keyof typeof SCHEMAS;

/** What each operation answers when all is well: status and shape, or the kind of another text. */
const ANSWERS: Readonly<Record<string, Partial<Record<number, SchemaName | `text/${string}` | null>>>> = {
  HealthController_live: { 200: 'Health', 503: 'Health' },
  HealthController_ready: { 200: 'Health', 503: 'Health' },
  HealthController_startup: { 200: 'Health', 503: 'Health' },
  HealthController_scrape: { 200: 'text/plain' },
  DocsController_page: { 200: 'text/html' },
  DocsController_openApi: { 200: 'Document' },
  KeysController_list: { 200: 'KeyPage' },
  KeysController_create: { 201: 'NewKey' },
  KeysController_revoke: { 200: 'Key' },
  SessionController_show: { 200: 'Session' },
  SessionController_signIn: { 200: 'Session' },
  SessionController_signOut: { 200: 'SignedOut' },
  SessionController_createCode: { 201: 'SignInCode' },
  AuditController_list: { 200: 'AuditPage' },
  AuditController_export: { 200: 'text/csv' },
  AuditController_verify: { 200: 'ChainReport' },
  StatsController_show: { 200: 'Stats' },
  StatsController_acknowledge: { 200: 'Alert' },
  BulkActionsController_create: { 200: 'BulkPreview', 202: 'BulkAction' },
  BulkActionsController_list: { 200: 'BulkActionPage' },
  BulkActionsController_show: { 200: 'BulkAction' },
  BulkActionsController_approve: { 200: 'BulkAction' },
  BulkActionsController_abort: { 200: 'BulkAction' },
  BulkActionsController_continue: { 202: 'BulkAction' },
  LettersController_count: { 200: null },
  LettersController_list: { 200: 'LetterPage' },
  LettersController_show: { 200: 'LetterDetail' },
  LettersController_download: { 200: 'text/plain' },
  LettersController_edit: { 200: 'LetterDetail' },
  LettersController_requeue: { 200: 'LetterSummary' },
  LettersController_discard: { 200: 'LetterSummary' },
  LettersController_restore: { 200: 'LetterSummary' },
  EventsController_list: { 200: 'DeadEventPage' },
  EventsController_revive: { 200: 'Revived' },
  GroupsController_list: { 200: 'GroupPage' },
  GroupsController_show: { 200: 'Group' },
  GroupsController_change: { 200: 'Group' },
  GroupsController_merge: { 200: 'Group' },
  GroupsController_split: { 200: 'GroupPage' },
  PipelineController_show: { 200: 'Pipeline' },
  PipelineController_stream: { 200: 'text/event-stream' },
  QueuesController_list: { 200: 'QueuePage' },
  QueuesController_pause: { 200: 'Queue' },
  QueuesController_resume: { 200: 'Queue' },
  QueuesController_delayed: { 200: 'DelayedJobPage' },
  QueuesController_promote: { 200: 'Promoted' },
  ExplanationsController_fileAt: { 200: 'File' },
  ExplanationsController_file: { 200: 'File' },
  ExplanationsController_batch: { 200: 'Batch' },
};

const HEADERS: Readonly<Record<string, Record<string, Schema>>> = {
  LettersController_count: {
    'X-Total-Count': { description: 'How many.', schema: { type: 'integer' } },
    'X-Total-Count-Exact': { description: 'Whether that is exact.', schema: { type: 'boolean' } },
  },
  LettersController_show: {
    ETag: { description: 'The version, for If-Match.', schema: { type: 'string' } },
  },
};

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-role'?: string };

/** Nest's document made whole: shapes, examples and headers of every answer, problems for the rest, and who may ask. */
export function completed(document: OpenAPIObject): OpenAPIObject {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.values(item as Record<string, Operation>).map((operation) => ({ path, operation })),
  );
  for (const { path, operation } of operations) complete(path, operation);
  const { bearer } = document.components?.securitySchemes ?? {};
  // A key, or a signed token where OIDC_ISSUER is given.
  if (bearer && 'bearerFormat' in bearer) delete bearer.bearerFormat;
  Object.assign((document.components ??= {}), { schemas: { ...document.components.schemas, ...SCHEMAS } });
  return document;
}

function complete(path: string, operation: Operation): void {
  const { operationId = '' } = operation;
  const answers = ANSWERS[operationId];
  if (!answers)
    throw new Error(`${operationId} (${path}) has no answer in the OpenAPI document: add it to ANSWERS`);
  const told = Object.entries(answers).map(([status, what]) => [status, answerOf(what ?? null, operationId)]);
  operation.responses = {
    ...(Object.fromEntries(told) as Operation['responses']),
    default: {
      description: 'What went wrong, and the cure (RFC 9457).',
      content: { 'application/problem+json': bodyOf('Problem') },
    },
  };
  // The service library's routes know no roles; the guard says the same of them.
  if (path.startsWith('/health/')) operation['x-role'] = 'public';
  if (path === '/metrics') operation['x-role'] = 'viewer';
}

function answerOf(what: SchemaName | `text/${string}` | null, operationId: string): object {
  const headers = HEADERS[operationId];
  const content =
    what === null
      ? undefined
      : what.startsWith('text/')
        ? { [what]: { schema: { type: 'string' } } }
        : { 'application/json': bodyOf(what as SchemaName) };
  return { description: 'Done.', ...(headers && { headers }), ...(content && { content }) };
}

function bodyOf(name: SchemaName): object {
  return { schema: ref(name), example: exampleOf(ref(name)) };
}

/** A value that fits a schema, from the examples of its parts. */
function exampleOf(schema: Schema): unknown {
  if (typeof schema.$ref === 'string') return exampleOf(SCHEMAS[schema.$ref.split('/').at(-1) as SchemaName]);
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (Array.isArray(schema.anyOf)) return exampleOf((schema.anyOf as Schema[])[0] ?? {});
  if ('items' in schema) return [exampleOf(schema.items as Schema)];
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return Object.fromEntries(properties.map(([name, inner]) => [name, exampleOf(inner)]));
}
