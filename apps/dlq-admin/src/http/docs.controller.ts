import { Controller, Get, Injectable, type INestApplication } from '@nestjs/common';
import { ApiTags, DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { ref, SCHEMAS, type Schema } from '#dlq-client';
import { Needs } from './route.js';

const ABOUT = new DocumentBuilder()
  .setOpenAPIVersion('3.1.0')
  .setTitle('Millrace dlq-admin')
  .setDescription('Dead letters: inspect, search, edit, discard, requeue. Errors are RFC 9457 problems.')
  .setVersion('1')
  .addBearerAuth()
  .build();

/** The OpenAPI document, made from the routes when first asked for. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private document: OpenAPIObject | undefined;

  of(app: INestApplication): void {
    this.app = app;
  }

  get(): OpenAPIObject {
    if (!this.app) throw new Error('the document was asked for before the app was configured');
    return (this.document ??= completed(SwaggerModule.createDocument(this.app, ABOUT)));
  }
}

@ApiTags('docs')
@Controller('docs')
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  @Get('openapi.json')
  @Needs('viewer')
  openApi(): OpenAPIObject {
    return this.document.get();
  }
}

type SchemaName = keyof typeof SCHEMAS;

/** What the routes of each controller answer when all is well: a shape, the kind of another text, or nothing. */
const ANSWERS: Readonly<Record<string, Readonly<Record<string, SchemaName | `text/${string}` | null>>>> = {
  HealthController: { live: 'Health', ready: 'Health', startup: 'Health', scrape: 'text/plain' },
  DocsController: { openApi: 'Document' },
  KeysController: { list: 'KeyPage', create: 'NewKey', revoke: 'Key' },
  SessionController: { show: 'Session', signIn: 'Session', signOut: 'SignedOut', createCode: 'SignInCode' },
  AuditController: { list: 'AuditPage', export: 'text/csv', verify: 'ChainReport' },
  StatsController: { show: 'Stats', acknowledge: 'Alert' },
  BulkActionsController: {
    ...{ create: 'BulkAction', list: 'BulkActionPage', show: 'BulkAction' },
    ...{ approve: 'BulkAction', abort: 'BulkAction', continue: 'BulkAction' },
  },
  LettersController: {
    ...{ count: null, list: 'LetterPage', show: 'LetterDetail', download: 'text/plain' },
    ...{ edit: 'LetterDetail', requeue: 'LetterSummary', discard: 'LetterSummary', restore: 'LetterSummary' },
  },
  EventsController: { list: 'DeadEventPage', revive: 'Revived' },
  GroupsController: { list: 'GroupPage', show: 'Group', change: 'Group', merge: 'Group', split: 'GroupPage' },
  PipelineController: { show: 'Pipeline', stream: 'text/event-stream' },
  QueuesController: {
    ...{ list: 'QueuePage', pause: 'Queue', resume: 'Queue', delayed: 'DelayedJobPage', promote: 'Promoted' },
  },
  ExplanationsController: { fileAt: 'File', file: 'File', batch: 'Batch' },
};

const HEADERS: Readonly<Record<string, Record<string, Schema>>> = {
  LettersController_count: {
    'X-Total-Count': { description: 'How many.', schema: { type: 'integer' } },
    'X-Total-Count-Exact': { description: 'Whether that is exact.', schema: { type: 'boolean' } },
  },
  LettersController_show: { ETag: { description: 'The version, for If-Match.', schema: { type: 'string' } } },
};

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-role'?: string };

/** Nest's document made whole: shapes, examples and headers of every answer, problems for the rest, and who may ask. */
function completed(document: OpenAPIObject): OpenAPIObject {
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

/** Nest knows the status of each route; of a dry run it does not. */
function complete(path: string, operation: Operation): void {
  const { operationId = '', responses } = operation;
  const [controller = '', method = ''] = operationId.split('_');
  const what = ANSWERS[controller]?.[method];
  if (what === undefined)
    throw new Error(`${operationId} (${path}) has no answer in the OpenAPI document: add it to ANSWERS`);
  const told = Object.keys(responses).map((status) => [status, answerOf(what, operationId)]);
  if (operationId === 'BulkActionsController_create')
    told.push(['200', answerOf('BulkPreview', operationId)]);
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
