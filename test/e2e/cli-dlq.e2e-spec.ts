import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Database, execute } from '#database';
import {
  DlqClient,
  type BulkAction,
  type BulkPreview,
  type LetterDetail,
  type LetterSummary,
} from '#dlq-client';
import { QueueManager } from '#queue-manager';
import { Metrics, silentLogger } from '#service';
import {
  eventually,
  pipelineRedis,
  sharedRedis,
  spawnApp,
  spawnBuilt,
  spawnProgram,
  tempFolder,
  testDatabase,
  type Child,
  type TempFolder,
  type TestDatabase,
} from '#testing';
import { CliHost } from './cli-host.js';
import { deadLetter, sendLetters } from './dlq-app.js';

const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\u202e\u009b31m\r\n<script>alert(1)</script>';
const ACTIVE = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

/** `millrace dlq` and `millrace keys` against a dlq-admin of their own. */
describe('millrace dlq', () => {
  let folder: TempFolder;
  let place: TestDatabase;
  let queues: QueueManager;
  let admin: Child;
  let host: CliHost;
  let url: string;
  let key: string;
  let client: DlqClient;
  const children: Child[] = [];

  interface Ended {
    code: number | null;
    stdout: string;
    stderr: string;
  }
  const ended = async (child: Child): Promise<Ended> => {
    children.push(child);
    const { code } = await child.exited;
    return { code, stdout: child.stdout, stderr: child.stderr };
  };
  const start = (args: string[], env: NodeJS.ProcessEnv = {}): Child =>
    spawnBuilt('apps/cli/src/main', ['--data', join(folder.path, 'data'), ...args], {
      MILLRACE_DATABASE_URL: place.url,
      ...env,
    });
  const millrace = (args: readonly string[], env: Record<string, string> = {}): Promise<Ended> =>
    host.run(['--data', join(folder.path, 'data'), ...args], { MILLRACE_DATABASE_URL: place.url, ...env });
  const dlq = (...args: string[]): Promise<Ended> =>
    millrace(['dlq', ...args], { MILLRACE_DLQ_ADMIN_URL: url, MILLRACE_DLQ_API_KEY: key });
  const parsed = <T>({ code, stdout, stderr }: Ended): T => {
    if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  const idsIn = async (queue: string): Promise<number[]> =>
    (await client.letters({ queue }, { limit: 200 })).items.map(({ id }) => id).sort((a, b) => a - b);

  beforeAll(async () => {
    folder = await tempFolder('cli');
    host = new CliHost();
    place = await testDatabase('sqlite');
    const redis = sharedRedis();
    // The first key of all: no server runs, and the database is not even there.
    const made = await ended(start(['keys', 'create', '--role', 'admin', '--name', 'first']));
    key = made.stdout.trim();
    queues = new QueueManager({
      ...(await pipelineRedis(redis, place.url)),
      workerId: 'test',
      logger: silentLogger,
      metrics: new Metrics(),
    });
    await queues.start();
    admin = spawnApp('dlq-admin', {
      REDIS_URL: redis.url,
      REDIS_PREFIX: redis.prefix,
      DATABASE_URL: place.url,
      SAMPLE_INTERVAL_MS: '3600000',
      RATE_LIMIT_PER_MINUTE: '1000000',
    });
    const { port } = await admin.log({ msg: 'dlq-admin listening' }, 120_000);
    url = `http://127.0.0.1:${String(port)}`;
    client = new DlqClient({ url, key });
    await sendLetters(queues, [
      ...[1, 2, 3].map(() =>
        deadLetter({ queue: 'q-file', errorName: 'ReadError', data: { user: { id: 7 } } }),
      ),
      deadLetter({ queue: 'q-net', errorName: 'TimeoutError', errorMessage: 'the network is slow' }),
      ...[1, 2, 3, 4].map(() => deadLetter({ queue: 'q-bulk', errorName: 'BulkError', errorMessage: 'no' })),
      deadLetter({
        queue: 'q-hostile',
        jobName: HOSTILE,
        errorName: `Evil${HOSTILE}`,
        errorMessage: HOSTILE,
        stack: `${HOSTILE}\n    at ${HOSTILE} (a.js:1:1)`,
        lastWorkerId: HOSTILE,
        data: { [HOSTILE]: HOSTILE, long: 'x'.repeat(100_000), deep: { deep: { deep: [HOSTILE] } } },
      }),
    ]);
    await eventually(async () => expect((await client.count()).count).toBe(9), { timeoutMs: 120_000 });
  }, 300_000);

  afterEach(async () => {
    for (const child of children.splice(0)) await child.end('SIGKILL');
  });
  afterAll(async () => {
    await host.stop();
    await admin.end('SIGKILL');
    await queues.stop();
    await place.remove();
    await folder.remove();
  });

  it('finds letters by conditions, and says by its exit code whether there are any', async () => {
    const [json, table, none, some] = await Promise.all([
      dlq('list', '--queue', 'q-file', '--payload', 'user.id=7', '--from', '1h', '-o', 'json'),
      dlq('list', '--text', 'network is', '--status', 'open'),
      dlq('list', '--error', 'NoSuchError'),
      dlq('list', '--limit', '2'),
    ]);
    const found = parsed<LetterSummary[]>(json);
    expect(found.map(({ id }) => id).sort((a, b) => a - b)).toEqual(await idsIn('q-file'));
    expect(table.stdout).toMatch(/^ID +FAILED +QUEUE[^\n]*\n\d+ [^\n]*q-net[^\n]*TimeoutError[^\n]*\n$/);
    expect(none).toMatchObject({ code: 1, stdout: '' });
    expect(some.stdout.trimEnd().split('\n')).toHaveLength(3);
    expect(some.stderr).toContain('--all');
  }, 120_000);

  it('shows causes and stats, and watches them', async () => {
    const [groups, stats, watched] = await Promise.all([
      dlq('groups', '--all'),
      dlq('stats'),
      dlq('watch', '--every', '1', '--times', '2'),
    ]);
    expect(groups.stdout).toMatch(/BulkError: no/);
    expect(stats.stdout).toMatch(/Open \d[^]*QUEUE[^]*q-bulk/);
    expect(watched).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(\S+ \S+Z open=\d+ .*\n){2}$/),
    });
  }, 120_000);

  it('shows hostile payloads, errors and stacks inert, as table and as JSON', async () => {
    const [id = 0] = await idsIn('q-hostile');
    const [shown, json, ...rest] = await Promise.all([
      dlq('show', String(id)),
      dlq('show', String(id), '-o', 'json'),
      dlq('list', '--queue', 'q-hostile'),
      dlq('groups'),
    ]);
    expect(shown.code).toBe(0);
    for (const { stdout, stderr } of [shown, json, ...rest]) {
      expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(ACTIVE);
      expect(stdout).toContain('<script>');
    }
    expect(shown.stdout.length).toBeLessThan(60_000);
    const { payload } = JSON.parse(json.stdout) as LetterDetail;
    expect(payload).toMatchObject({ [HOSTILE]: HOSTILE, deep: { deep: { deep: [HOSTILE] } } });
  }, 120_000);

  it('edits from the version that was read, shows the differences, and requeues', async () => {
    const [id = 0, other = 0] = await idsIn('q-file');
    const dry = await dlq('edit', String(id), '--set', 'user.id=8', '--unset', 'n', '--dry-run');
    expect(dry).toMatchObject({ code: 64, stderr: expect.stringContaining('no place n') });
    const shown = await dlq('edit', String(id), '--set', 'user.id=8', '--dry-run');
    expect(shown.stdout).toBe('- user.id: 7\n+ user.id: 8\nNothing was sent.\n');
    expect(await client.letter(id)).toMatchObject({ version: 1 });
    const edited = await dlq('edit', String(id), '--set', 'user.id=8', '--note', 'wrong id', '--requeue');
    expect(edited).toMatchObject({ code: 0, stdout: expect.stringContaining(`Letter ${id} is requeued.`) });
    expect(await client.letter(id)).toMatchObject({ payload: { user: { id: 8 } }, status: 'requeued' });
    expect(await dlq('edit', String(id), '--set', 'user.id=9')).toMatchObject({ code: 3 });

    const file = join(folder.path, 'payload.json');
    await writeFile(file, '{"whole":true}');
    const whole = parsed<LetterDetail>(await dlq('edit', String(other), '--file', file, '-o', 'json'));
    expect(whole).toMatchObject({ payload: { whole: true }, version: 2 });
    const noEditor = await dlq('edit', String(other));
    expect(noEditor).toMatchObject({ code: 64, stderr: expect.stringContaining('--set') });
    const audit = await dlq('audit', '--target', `letter:${id}`);
    expect(audit.stdout).toMatch(/letter\.requeue[^]*letter\.edit +letter:\d+ +ok +wrong id/);
  }, 180_000);

  it('opens $EDITOR on a terminal and sends what was saved', async () => {
    const [, , id = 0] = await idsIn('q-file');
    const main = join(import.meta.dirname, '../../dist/apps/cli/src/main.js');
    // `script` gives the command a terminal of its own.
    const child = spawnProgram(
      'script',
      ['-qec', `${process.execPath} ${main} dlq edit ${id}`, '/dev/null'],
      {
        env: {
          EDITOR: 'sed -i \'s/"id": 7/"id": 70/\'',
          MILLRACE_DLQ_ADMIN_URL: url,
          MILLRACE_DLQ_API_KEY: key,
          SHELL: '/bin/sh',
        },
      },
    );
    expect((await ended(child)).stdout).toMatch(/- user\.id: 7\r?\n\+ user\.id: 70/);
    expect(await client.letter(id)).toMatchObject({ payload: { user: { id: 70 } } });
  }, 60_000);

  it('changes many letters after a dry run and a yes, and tells what was skipped', async () => {
    const chosen = ['--queue', 'q-bulk', '-o', 'json'];
    const dry = parsed<BulkPreview>(await dlq('requeue', '--dry-run', ...chosen));
    expect(dry).toMatchObject({ total: 4, eligible: 4, reasons: [{ errorName: 'BulkError', count: 4 }] });
    const unasked = await dlq('requeue', ...chosen);
    expect(unasked).toMatchObject({ code: 64, stderr: expect.stringContaining('--yes') });
    expect((await client.count({ queue: 'q-bulk', status: 'open' })).count).toBe(4);

    const [first = 0, second = 0] = await idsIn('q-bulk');
    const main = join(import.meta.dirname, '../../dist/apps/cli/src/main.js');
    const piped = spawnProgram(
      'sh',
      ['-c', `echo ${first} | node ${main} dlq discard - --note 'not needed'`],
      {
        env: { MILLRACE_DLQ_ADMIN_URL: url, MILLRACE_DLQ_API_KEY: key },
      },
    );
    expect(await ended(piped)).toMatchObject({
      code: 0,
      stdout: `letter ${first} is discarded (q-bulk)\n`,
    });
    expect(await dlq('discard', String(first))).toMatchObject({ code: 3 });
    const both = await dlq('requeue', String(first), String(second));
    expect(both).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/1 of 2 requeued; skipped: not-open 1/),
    });
    const all = parsed<BulkAction>(await dlq('requeue', '--yes', '--rps', '100', ...chosen));
    expect(all).toMatchObject({ status: 'completed', total: 2, done: 2, skipped: 0 });
    expect(await dlq('requeue', '--yes', ...chosen)).toMatchObject({ code: 1 });
    const restored = await dlq('restore', '--status', 'discarded', '--yes');
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('1 of 1 restored') });
    expect(await client.letter(first)).toMatchObject({ status: 'open' });
  }, 240_000);

  it('aborts its bulk action on Ctrl-C, and nothing is left half done', async () => {
    await sendLetters(
      queues,
      Array.from({ length: 50 }, () => deadLetter({ queue: 'q-slow' })),
    );
    await eventually(async () => expect((await client.count({ queue: 'q-slow' })).count).toBe(50));
    // Nobody publishes what is requeued here, so the first step of the canary waits for its outcome.
    const canary = ['--canary', '2,48', '--rps', '10', '--yes', '-o', 'json'];
    const child = start(['dlq', 'requeue', '--queue', 'q-slow', ...canary], {
      MILLRACE_DLQ_ADMIN_URL: url,
      MILLRACE_DLQ_API_KEY: key,
    });
    await child.output(/requeue \d+ of 50.*canary step 1/, 60_000);
    child.signal('SIGINT');
    const { code, stdout } = await ended(child);
    const action = JSON.parse(stdout) as BulkAction;
    expect([code, action.status]).toEqual([130, 'aborted']);
    expect(action.done).toBeLessThanOrEqual(2);
    expect((await client.count({ queue: 'q-slow', status: 'requeued' })).count).toBe(action.done);
    const listed = await dlq('actions', action.id);
    expect(listed.stdout).toContain('aborted');
  }, 120_000);

  it('lists dead events and offers them again', async () => {
    const [id = 0] = await idsIn('q-net');
    await client.change(id, 'requeue');
    const database = new Database({ url: place.url, logger: silentLogger, metrics: new Metrics() });
    await database.start();
    await database.inTransaction((tx) =>
      execute(tx, "UPDATE outbox SET status = 'DEAD', last_error = $1 WHERE id = $2", [HOSTILE, `r-${id}-1`]),
    );
    await database.stop();
    const events = await dlq('events');
    expect(events.stdout).toMatch(new RegExp(`^EVENT [^\\n]*\\nr-${id}-1 [^\\n]*<script>`));
    expect(events.stdout.replaceAll('\n', '')).not.toMatch(ACTIVE);
    expect(await dlq('revive', `r-${id}-1`)).toMatchObject({ code: 0 });
    expect(await dlq('revive', `r-${id}-1`)).toMatchObject({ code: 66 });
    expect((await dlq('events', '-o', 'json')).stdout).toBe('[]\n');
  }, 120_000);

  it('refuses by role, and says so with 5', async () => {
    const made = await millrace(['keys', 'create', '--role', 'viewer', '-o', 'json'], {
      MILLRACE_DLQ_ADMIN_URL: url,
      MILLRACE_DLQ_API_KEY: key,
    });
    const viewer = parsed<{ key: string; id: string }>(made);
    const as = (secret: string | undefined, ...args: string[]): Promise<Ended> =>
      millrace(['dlq', '--url', url, ...args], secret ? { MILLRACE_DLQ_API_KEY: secret } : {});
    const [id = 0] = await idsIn('q-net');
    expect(await as(viewer.key, 'list', '--count')).toMatchObject({ code: 0 });
    expect((await as(viewer.key, 'show', String(id))).stdout).toContain('shown to operators');
    expect(await as(viewer.key, 'requeue', String(id))).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('role operator'),
    });
    expect(await as(undefined, 'stats')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('DLQ_API_KEY'),
    });
    // Straight in the database, while the server runs.
    const revoked = await millrace(['keys', 'revoke', viewer.id]);
    expect(revoked).toMatchObject({ code: 0 });
    await eventually(async () => expect((await as(viewer.key, 'stats')).code).toBe(5), { timeoutMs: 60_000 });
    const list = await millrace(['keys', 'list']);
    expect(list.stdout).toMatch(new RegExp(`${viewer.id} +viewer +revoked`));
    const actions = (await client.audit({ target: `key:${viewer.id}` })).items.map(({ action }) => action);
    expect(actions).toEqual(['key.revoke', 'key.create']);
  }, 180_000);

  it('takes the key from a private file or from standard input, and never shows it to ps', async () => {
    const file = join(folder.path, 'key');
    await writeFile(file, `${key}\n`, { mode: 0o644 });
    const open = await millrace(['dlq', '--url', url, '--key-file', file, 'stats']);
    expect(open).toMatchObject({ code: 64, stderr: expect.stringContaining('chmod 600') });
    await chmod(file, 0o600);
    const watching = start(['dlq', '--url', url, '--key-file', file, 'watch', '--every', '1']);
    await watching.output('open=', 60_000);
    expect(await commandLinesWith(key)).toEqual([]);
    expect(await commandLinesWith(file)).not.toEqual([]);
    watching.signal('SIGINT');
    expect(await ended(watching)).toMatchObject({ code: 0 });
    const main = join(import.meta.dirname, '../../dist/apps/cli/src/main.js');
    const piped = spawnProgram('sh', [
      '-c',
      `exec node ${main} dlq --url ${url} --key-stdin list --count < ${file}`,
    ]);
    expect(await ended(piped)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/) });
    expect(admin.stdout + admin.stderr).not.toContain(key);
  }, 120_000);

  it('shows and pauses the queues', async () => {
    const as = { MILLRACE_DLQ_ADMIN_URL: url, MILLRACE_DLQ_API_KEY: key };
    const paused = await millrace(['queues', 'pause', 'file-analysis-queue', '--note', 'a test'], as);
    expect(paused).toMatchObject({ code: 0, stdout: 'file-analysis-queue is paused\n' });
    expect((await millrace(['queues'], as)).stdout).toMatch(/^file-analysis-queue .* PAUSED$/m);
    expect((await millrace(['queues', 'resume', 'file-analysis-queue'], as)).stdout).toContain(
      'is not paused',
    );
    expect((await millrace(['queues', 'delayed', 'file-analysis-queue'], as)).stdout).toMatch(
      /^JOB +NEXT ATTEMPT/,
    );
    expect(await millrace(['queues', 'now', 'file-analysis-queue', 'none'], as)).toMatchObject({ code: 66 });
  }, 60_000);

  it('says what is wrong and how to mend it', async () => {
    const mistakes: [string[], number, string][] = [
      [['--url', 'http://127.0.0.1:1', 'stats'], 69, 'does not answer'],
      [['--url', 'nowhere', 'stats'], 64, 'http://host:port'],
      [['--url', 'http://u:secret@127.0.0.1:1', 'stats'], 64, 'DLQ_API_KEY'],
      [['requeue'], 64, '--group'],
      [['requeue', '1', '--queue', 'q'], 64, 'not both'],
      [['show', 'x'], 64, 'whole number'],
      [['frobnicate'], 64, 'unknown command'],
      [['list', '--status', 'lost'], 64, 'open, requeued, resolved, discarded'],
    ];
    const results = await Promise.all(mistakes.map(([args]) => millrace(['dlq', ...args])));
    for (const [index, [args, code, words]] of mistakes.entries()) {
      const { stderr = '', code: found } = results[index] ?? {};
      expect({ args, code: found }).toEqual({ args, code });
      expect(stderr).toContain(words);
      expect(stderr).not.toContain('secret@');
    }
    expect(await dlq('show', '999999')).toMatchObject({ code: 66 });
    const badKey = await millrace(['dlq', 'stats'], { MILLRACE_DLQ_API_KEY: 'two words' });
    expect(badKey).toMatchObject({ code: 78, stderr: expect.stringContaining('DLQ_API_KEY') });
    expect(badKey.stderr).not.toContain('two words');
  }, 120_000);
});

/** The command lines of every process here that hold the text. */
async function commandLinesWith(text: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(text));
}
