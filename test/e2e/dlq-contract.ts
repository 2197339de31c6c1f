import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Request, RequestHandler, Response } from 'express';
import { ApiDocument } from '../../apps/dlq-admin/src/http/docs.controller.js';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

/**
 * Holds every answer of a dlq-admin against its own OpenAPI document: an operation or a status that the document does not tell of,
 * another kind of content, a missing field or one too many. What does not fit is kept for the end of the test.
 */
export class ApiContract {
  readonly breaches: string[] = [];
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false });
  private readonly validators = new Map<string, ValidateFunction>();
  private document: OpenAPIObject | undefined;
  private app: INestApplication | undefined;

  of(app: INestApplication): void {
    this.app = app;
  }

  readonly middleware: RequestHandler = (request, response, next) => {
    const send = response.send.bind(response);
    response.send = (body?: unknown) => {
      // `json` calls `send` with what it has made of its value.
      if (typeof body === 'string') this.check(request, response, body);
      return send(body);
    };
    next();
  };

  private check({ method, path }: Request, response: Response, body: string): void {
    if (!path.startsWith('/api/')) return;
    const type = String(response.getHeader('content-type') ?? '').split(';')[0] ?? '';
    const fault = this.fault(method, path, String(response.statusCode), type, body);
    if (fault) this.breaches.push(`${method} ${path} ${response.statusCode}: ${fault}`);
  }

  private fault(method: string, path: string, status: string, type: string, body: string): string | null {
    // A slash at the end leads to the same.
    const found = this.operation(method, path.replace(/\/+$/, ''));
    // An address that nothing serves is answered with a problem all the same.
    const { responses } = found?.operation ?? { responses: {} };
    const declared = responses[status] ?? responses.default;
    if (!found || !declared) return Number(status) >= 400 ? null : 'no such operation';
    const content = declared.content?.[type];
    if (!content) return declared.content || body !== '' ? `${type || 'nothing'} is not declared` : null;
    if (!type.endsWith('json')) return null;
    const pointer = `${found.template} ${method} ${responses[status] ? status : 'default'} ${type}`;
    const validate = this.validator(pointer, content.schema);
    return validate(JSON.parse(body)) ? null : this.ajv.errorsText(validate.errors);
  }

  private operation(method: string, path: string): { template: string; operation: Operation } | undefined {
    this.document ??= this.app?.get(ApiDocument).get();
    const paths = Object.entries(this.document?.paths ?? {});
    for (const [template, item] of paths.sort(([a], [b]) => a.split('{').length - b.split('{').length)) {
      const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      const operation = (item as Record<string, Operation>)[method.toLowerCase()];
      if (operation && pattern.test(path)) return { template, operation };
    }
    return undefined;
  }

  private validator(pointer: string, schema: object): ValidateFunction {
    const known = this.validators.get(pointer);
    if (known) return known;
    const whole = { ...schema, components: { schemas: this.document?.components?.schemas ?? {} } };
    const made = this.ajv.compile(whole);
    this.validators.set(pointer, made);
    return made;
  }
}
