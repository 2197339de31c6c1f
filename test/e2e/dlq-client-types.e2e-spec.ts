import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, PROJECT_ROOT, spawnProgram, tempFolder, type TempFolder } from '#testing';
import { deadLetter, startDlqAdmin, type TestDlqAdmin } from './dlq-app.js';

/** What somebody writes against the generated types: it compiles only when answers, parameters and bodies are described. */
const CLIENT = `
import type { paths } from './api.js';
type List = paths['/api/v1/dead-letters']['get'];
type Page = List['responses']['200']['content']['application/json'];
type Query = NonNullable<List['parameters']['query']>;
type Problem = List['responses']['default']['content']['application/problem+json'];
type Bulk = paths['/api/v1/bulk-actions']['post'];
const [url = '', key = ''] = process.argv.slice(2);
const query: Query = { queue: 'q-typed', limit: 10 };
const bulk: Bulk['requestBody']['content']['application/json'] = { kind: 'discard', ids: [1] };
const reply = await fetch(url + '/api/v1/dead-letters?' + new URLSearchParams(query as never), {
  headers: { authorization: 'Bearer ' + key },
});
if (!reply.ok) throw new Error(((await reply.json()) as Problem).detail);
const page = (await reply.json()) as Page;
console.log(JSON.stringify(page.items.map(({ id, queue, status }) => [id > 0, queue, status, bulk.kind])));
// @ts-expect-error a field that there is not
page.items[0]?.nonsense;
`;

describe('a client made from the OpenAPI document', () => {
  let admin: TestDlqAdmin;
  let folder: TempFolder;
  beforeAll(async () => {
    admin = await startDlqAdmin('sqlite');
    folder = await tempFolder('client');
  }, 60_000);
  afterAll(async () => {
    await admin.stop();
    await folder.remove();
  });

  it('compiles, and lists letters', async () => {
    await admin.send([deadLetter({ queue: 'q-typed' }), deadLetter({ queue: 'q-other' })]);
    await eventually(async () => expect((await admin.client.count()).count).toBe(2));
    const reply = await fetch(`${admin.url}/docs/openapi.json`, {
      headers: { authorization: admin.authorization },
    });
    const at = (name: string): string => join(folder.path, name);
    writeFileSync(at('openapi.json'), await reply.text());
    const run = (file: string, ...args: string[]): string =>
      execFileSync(process.execPath, [join(PROJECT_ROOT, 'node_modules', file), ...args], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    run('openapi-typescript/bin/cli.js', at('openapi.json'), '-o', at('api.ts'));
    writeFileSync(at('client.mts'), CLIENT);
    const types = ['--types', 'node', '--typeRoots', join(PROJECT_ROOT, 'node_modules/@types')];
    const flags = [
      '--ignoreConfig',
      '--strict',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--skipLibCheck',
      ...types,
    ];
    run('typescript/bin/tsc', ...flags, '--outDir', folder.path, at('client.mts'));
    const key = admin.authorization.slice('Bearer '.length);
    const child = spawnProgram(process.execPath, [at('client.mjs'), admin.url, key]);
    expect({ ...(await child.exited), told: child.stderr }).toEqual({ code: 0, signal: null, told: '' });
    expect(JSON.parse(child.stdout)).toEqual([[true, 'q-typed', 'open', 'discard']]);
  }, 120_000);
});
