import { createHash } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DlqClient } from '#dlq-client';
import { isOpenReason } from '#files';
import { eventually, NotRunHere, spawnProgram, startRedis } from '#testing';
import { enqueueFiles, type Registered } from '../../apps/batcher/src/batcher.fixture.js';
import { BatcherRig, closeRigs } from '../e2e/batcher-rig.js';
import { RecordingAnalyser } from '../e2e/recording-analyser.js';
import { outcomeOf, World } from '../truth/world.js';

const NOBODY = 65_534;
const SECRET = 'a secret that only root may read';
const SWAPS = 1_000;

function requireRoot(): void {
  if (process.getuid?.() !== 0) throw new NotRunHere('only root can run a second user');
}

/** Runs a script as a user who may read nothing of root's, and returns what it prints. */
async function asNobody(script: string, ...args: string[]): Promise<string> {
  requireRoot();
  const child = spawnProgram(process.execPath, ['-e', script, ...args], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: '/',
  });
  const { code, stdout, stderr } = await outcomeOf(child);
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  return stdout.trim();
}

describe('another user who may not read a file', () => {
  let world: World;
  let secret: string;
  beforeEach(async () => {
    world = await World.open({ 'sub/a.txt': 'of the tree' });
    mkdirSync(world.at('root-only'), { mode: 0o700 });
    secret = world.at('root-only/secret');
    writeFileSync(secret, SECRET, { mode: 0o600 });
    expect(await asNobody(READS, secret)).toBe('EACCES');
  });
  afterEach(() => world.close());

  it('gets it by no job that they change in Redis, of files or of batches', async () => {
    const [redis, analyser] = [await startRedis(), await RecordingAnalyser.start()];
    world.whenDone(() => redis.stop());
    world.whenDone(() => analyser.stop());
    const on = { MILLRACE_REDIS_URL: redis.url };
    const change = async (queue: string): Promise<number> =>
      Number(await asNobody(CHANGES_JOBS, String(redis.port), queue, secret));
    const run = ['--data', world.at('data'), 'run', world.tree, '--url', analyser.url];
    await world.millrace(['--data', world.at('data'), 'scan', world.tree], on);
    expect(await change('files-to-batch-queue')).toBe(1);
    analyser.busy = Infinity;
    expect((await world.millrace([...run, '--patience', '3'], on)).code).toBe(1);
    expect(await change('file-analysis-queue')).toBe(1);
    analyser.busy = 0;
    expect((await world.millrace(run, on)).verdict).toBe('PROVEN');
    expect(
      analyser.requests.flatMap(({ files }) => files.map(({ path, content }) => [path, content])),
    ).toEqual([['sub/a.txt', 'of the tree']]);
    expect((await world.millrace(['--data', world.at('data'), 'verify', '--deep'], on)).verdict).toBe(
      'PROVEN',
    );
  }, 240_000);

  it('gets it by no letter that they edit and requeue', async () => {
    const data = ['--data', world.at('data')];
    await world.write({ 'millrace.json': '{"MILLRACE_FAULT":"batcher.after-fetch:1:kill"}' }, 'cwd');
    const failed = await world.millrace([...data, ...world.runArguments()], { MILLRACE_TEST_HASTE: '4' });
    expect(failed.verdict).toBe('PROVEN EXCEPT');
    await world.write({ 'millrace.json': '{}' }, 'cwd');
    const kept = world.start([...data, ...world.runArguments('--keep')]);
    await kept.output('Services stay up', 120_000);
    const { adminUrl, adminKey } = JSON.parse(readFileSync(world.at('data/run.json'), 'utf8')) as {
      adminUrl: string;
      adminKey: string;
    };
    const { key } = await new DlqClient({ url: adminUrl, key: adminKey }).createKey({
      name: 'another',
      role: 'operator',
    });
    expect(await asNobody(EDITS_LETTER, adminUrl, key, secret)).toContain(secret);
    await eventually(async () => expect(await world.delivered()).toEqual(['sub/a.txt']), {
      timeoutMs: 90_000,
    });
    const written = readdirSync(world.out).map((name) => readFileSync(join(world.out, name), 'utf8'));
    expect(written.join()).toContain('of the tree');
    expect(written.join()).not.toContain(SECRET);
    expect((await world.millrace([...data, 'verify', '--deep'])).verdict).toBe('PROVEN');
  }, 240_000);
});

describe('another user who swaps a folder for a link', () => {
  closeRigs();
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

  /** All files once more, as if they had never been looked at. */
  const again = async (rig: BatcherRig, files: readonly Registered[], revision: number): Promise<void> => {
    await rig.database.inTransaction(async (tx) => {
      for (const table of ['batch_items', 'batches', 'outbox']) await tx.query(`DELETE FROM ${table}`);
      await tx.query(
        `UPDATE files SET status = 'pending', skip_reason = NULL, sent_revision = NULL, sent_hash = NULL, revision = ${revision}`,
      );
    });
    const jobs = files.map((file) => ({ ...file, revision }));
    await enqueueFiles(rig.queues, rig.database, jobs, 7);
  };
  const skipsOf = async (rig: BatcherRig): Promise<string[]> =>
    (await rig.rows<{ skip_reason: string }>("SELECT skip_reason FROM files WHERE status = 'skipped'")).map(
      ({ skip_reason }) => skip_reason,
    );

  it('has nothing carried from where it leads in 1,000 swaps, and every refusal is counted and told', async () => {
    requireRoot();
    const rig = await BatcherRig.open();
    const [root, outside] = [join(rig.folder, 'root'), join(rig.folder, 'outside')];
    mkdirSync(outside, { mode: 0o700 });
    const names = Array.from({ length: 100 }, (_, n) => `f${n}`);
    for (const name of names) writeFileSync(join(outside, name), SECRET, { mode: 0o600 });
    const files = await rig.add(
      Object.fromEntries(names.map((name) => [`root/sub/${name}`, `tree ${name}`])),
    );
    await rig.database.inTransaction((tx) =>
      tx.query(`UPDATE roots SET path = '${root}', path_key = '${root}'`),
    );
    chmodSync(rig.folder, 0o755);
    for (const path of [root, join(root, 'sub')]) chownSync(path, NOBODY, NOBODY);
    let swapping = true;
    const swapper = asNobody(SWAPS_FOLDER, root, outside, String(SWAPS)).finally(() => (swapping = false));
    const batcher = rig.start({ BATCHER_THREADS: '2' });
    const { port } = await batcher.log({ msg: 'batcher listening' });
    let refused = 0;
    for (let revision = 2; swapping; revision++) {
      const { batched = 0, skipped = 0 } = await rig.settled();
      expect(batched + skipped).toBe(files.length);
      const items = await rig.rows<{ content_hash: string }>('SELECT content_hash FROM batch_items');
      expect(items.map(({ content_hash }) => content_hash)).not.toContain(sha256(SECRET));
      const reasons = await skipsOf(rig);
      refused += reasons.filter((reason) => reason === 'outside-root').length;
      // Between two renames the folder is not there, and may be back when it is asked for: both reasons are open.
      expect(reasons.filter((reason) => !isOpenReason(reason))).toEqual([]);
      await again(rig, files, revision);
    }
    expect([await swapper, refused > 0]).toEqual([String(SWAPS), true]);
    await rig.settled();
    refused += (await skipsOf(rig)).filter((reason) => reason === 'outside-root').length;
    const metrics = await (await fetch(`http://127.0.0.1:${port as number}/metrics`)).text();
    expect(metrics).toContain(
      `millrace_files_settled_total{outcome="skipped",reason="outside-root"} ${refused}\n`,
    );
  }, 240_000);
});

const READS = `
  try { console.log(require('node:fs').readFileSync(process.argv[1], 'utf8')); } catch (error) { console.log(error.code); }`;

// Redis is asked in its own words, as anybody can who reaches it.
const CHANGES_JOBS = `
  const [port, queue, secret] = process.argv.slice(1);
  const script = \`
    local changed = 0
    local function lie(file)
      file.filePath, file.path, file.pathBytes = ARGV[2], ARGV[2], ARGV[3]
    end
    for _, key in ipairs(redis.call('KEYS', '*:' .. ARGV[1] .. ':*')) do
      local data = redis.call('TYPE', key).ok == 'hash' and redis.call('HGET', key, 'data')
      if data then
        local job = cjson.decode(data)
        for _, file in ipairs(job.files or { job }) do lie(file) end
        redis.call('HSET', key, 'data', cjson.encode(job))
        changed = changed + 1
      end
    end
    return changed\`;
  const words = ['EVAL', script, '0', queue, secret, Buffer.from(secret).toString('base64')];
  const text = words.map((word) => '$' + Buffer.byteLength(word) + '\\r\\n' + word + '\\r\\n').join('');
  const socket = require('node:net').connect(Number(port), '127.0.0.1', () => socket.write('*' + words.length + '\\r\\n' + text));
  socket.once('data', (data) => {
    console.log(data.toString().replace(/^:/, ''));
    socket.destroy();
  });`;

const EDITS_LETTER = `
  const [url, key, secret] = process.argv.slice(1);
  const ask = async (method, path, body, headers) => {
    const reply = await fetch(url + '/api/v1/dead-letters' + path, {
      method, ...(body && { body: JSON.stringify(body) }),
      headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json', ...headers },
    });
    const told = await reply.json();
    if (!reply.ok) throw new Error(JSON.stringify(told));
    return told;
  };
  (async () => {
    const [{ id }] = (await ask('GET', '')).items;
    const { payload, version } = await ask('GET', '/' + id);
    const lie = { ...payload, filePath: secret, pathBytes: Buffer.from(secret).toString('base64') };
    const edited = await ask('PATCH', '/' + id + '/payload', { payload: lie }, { 'if-match': '"' + version + '"' });
    await ask('POST', '/' + id + '/requeue', {});
    console.log(JSON.stringify(edited.payload));
  })();`;

const SWAPS_FOLDER = `
  const fs = require('node:fs');
  const [root, outside, times] = process.argv.slice(1);
  const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  process.chdir(root);
  let swaps = 0;
  for (; swaps < Number(times); swaps++) {
    fs.renameSync('sub', 'aside');
    fs.symlinkSync(outside, 'sub');
    pause(5);
    fs.unlinkSync('sub');
    fs.renameSync('aside', 'sub');
    pause(2);
  }
  console.log(swaps);`;
