import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const COMMANDS = 'test/truth/command-line.e2e-spec.ts';
const PIPELINES = 'test/truth/pipelines.e2e-spec.ts';
const DISTURBED = 'test/truth/disturbed.e2e-spec.ts';
const WAITING = 'test/truth/waiting.e2e-spec.ts';
const SINKS = 'apps/analyzer/src/sinks.int-spec.ts';

type Test = [file: string, name: string];

/** Cases in which a proof was once wrong about the world, in the order in which they were found, and the tests of each. */
const FINDINGS: readonly [found: string, ...tests: Test[]][] = [
  [
    'another run took over the data of an interrupted one',
    [PIPELINES, 'another destination on the data of an interrupted run is refused'],
  ],
  ['two runs on one PostgreSQL', [PIPELINES, 'two runs at once on one PostgreSQL']],
  [
    'jobs of another pipeline in Redis, or of a deleted database',
    [PIPELINES, 'jobs of another pipeline on the same Redis'],
  ],
  [
    'a subfolder that was away is skipped for ever',
    [WAITING, 'ends when files wait for a folder that is away'],
  ],
  [
    'folders that cannot be read, or are too deep',
    [COMMANDS, 'a folder that cannot be read is said aloud'],
    ['apps/producer/src/scan-trees.int-spec.ts', 'deeper than a path can be'],
  ],
  ['lists split at commas', [COMMANDS, 'patterns, folders and outputs may hold commas']],
  [
    'touched files sent again, sums below zero',
    [DISTURBED, 'is not sent again: linked elsewhere'],
    [DISTURBED, 'is sent once: what is on its way'],
    [COMMANDS, 'a narrower --include asks first'],
    [COMMANDS, 'a file that was only touched is told as such'],
    [COMMANDS, 'what was touched after its batch was refused is sent once'],
  ],
  [
    'batches over their budget',
    ['test/e2e/batcher.e2e-spec.ts', 'commits batches that fit the limit as written, counted by tiktoken'],
    [
      'apps/batcher/src/reading/file-counter.int-spec.ts',
      'leaves room enough that a part fits the budget as written in %s',
    ],
    ['apps/batcher/src/batch-fill.int-spec.ts', 'are full and never over in %s'],
  ],
  [
    'a short outage, FLUSHALL or a killed scan ends a run',
    [COMMANDS, 'a database that is away for a moment is waited for'],
    [DISTURBED, 'goes on when Redis is flushed while the scan holds its lease'],
    [COMMANDS, 'a scan that was killed is started again'],
  ],
  [
    'an output that cannot be made',
    [COMMANDS, 'is checked before anything is started'],
    ['test/e2e/analyzer.e2e-spec.ts', 'waits for an output folder that cannot be written'],
  ],
  [
    'a destination away makes dead letters',
    [
      'apps/analyzer/src/destination-gate.spec.ts',
      'uses up no attempt of any batch while the destination fails for all',
    ],
    [SINKS, 'takes no batch while its folder cannot be made'],
  ],
  [
    '`dlq` talks to strangers, two runs claim one port',
    ['test/truth/kept-up.e2e-spec.ts', 'are strangers to each other'],
    ['test/truth/kept-up.e2e-spec.ts', 'each say where they really are'],
  ],
  [
    'a run that never ends',
    [COMMANDS, 'a batch that was refused and whose files were then edited keeps no run from its end'],
    [WAITING, 'ends when an event could not be published'],
    [DISTURBED, 'ends although a file is appended to all the time'],
    [COMMANDS, 'is checked before anything is started'],
  ],
  [
    'a log line read as a result',
    [COMMANDS, 'a scan that was killed is started again, whatever the level of the log'],
  ],
  [
    'parts of a file that changed in between',
    [SINKS, 'sends no part of a file that is another now'],
    ['apps/analyzer/src/manifest.int-spec.ts', 'lists parts that were sent before their file changed'],
  ],
  ['one key, two bodies', [SINKS, 'never sends two bodies under one idempotency key']],
  ['XML that is none', ['libs/envelope/src/envelope.spec.ts', 'has no character that XML 1.0 cannot hold']],
  [
    'letters that outlive retention, or whose job was lost',
    [
      'libs/outbox/src/outbox-care.int-spec.ts',
      'keeps the event of a batch that is not delivered, however old',
    ],
    ['test/e2e/dlq-letters.e2e-spec.ts', 'whose redriven job Redis has lost are offered again'],
    ['libs/queue-manager/src/dead-letters.int-spec.ts', 'are not said of jobs of another queue'],
  ],
  [
    'an answer stored once per file',
    ['apps/analyzer/src/delivery.int-spec.ts', 'keeps a long answer to a batch of many files once'],
  ],
  [
    'one file takes others with it',
    [SINKS, 'sets aside at last what the system fails to read, and reads the others'],
    [
      'apps/analyzer/src/delivery.int-spec.ts',
      'has a copy looked at again when the file that stood for it was not sent',
    ],
  ],
  [
    "the user's own files deleted, a manifest of another folder",
    [SINKS, 'clears away what a killed process of its pipeline left half-written, and nothing else'],
    [PIPELINES, 'the manifest of an output lists the batches that lie in it'],
  ],
  [
    'a clock set back',
    ['libs/database/src/file-claims.int-spec.ts', 'hands out what a clock that was set back would hide'],
  ],
  ['our own output as source', [COMMANDS, 'a scan leaves out what runs have written']],
  [
    'listings without entry types, links to files',
    ['libs/tree/src/folder-lister.int-spec.ts', 'finds what has names outside ASCII'],
    ['libs/tree/src/folder-lister.int-spec.ts', 'followed, reach what the scan does not reach otherwise'],
  ],
  [
    'races on PostgreSQL',
    [
      'apps/producer/src/scan-truth.int-spec.ts',
      'stores one of two overlapping roots that are begun at once',
    ],
    [
      'apps/producer/src/scan-truth.int-spec.ts',
      'gives a file no second revision for what a batcher is just committing',
    ],
    ['apps/producer/src/scan.int-spec.ts', 'marks what is gone removed although recovery has claimed it'],
  ],
  [
    'options checked too late',
    [COMMANDS, 'is checked before anything is started, and each fault carries the name of its option'],
  ],
  [
    'settings of the project that is worked on',
    [COMMANDS, 'settings and files of the project that is worked on are left alone'],
  ],
  [
    'data folders, restarts, Retry-After: 0',
    [DISTURBED, 'has its data folder to itself'],
    [
      'apps/cli/src/fleet/data-directory.int-spec.ts',
      'is free when its owner died, though its process id is in use again',
    ],
    ['apps/cli/src/fleet/child-app.spec.ts', 'begin anew after one that ran soundly'],
    ['test/truth/kept-up.e2e-spec.ts', 'end with a word and no success when a service dies again and again'],
    [DISTURBED, 'asks a busy analyser at intervals'],
  ],
  ['a wedged worker that no probe sees', ['test/e2e/liveness.int-spec.ts', 'of the %s']],
  [
    'what was left to look at',
    [SINKS, 'takes back the file of an earlier try when nothing of the batch is left'],
    [
      'test/truth/planted-lies.e2e-spec.ts',
      'another content sent of a file that was hashed by another algorithm',
    ],
    ['libs/queue-manager/src/dead-letter.spec.ts', 'keeps what a job of 10 MB is about'],
  ],
];

describe('cases in which a proof was once wrong', () => {
  it('are thirty', () => {
    expect(FINDINGS).toHaveLength(30);
  });

  it.each(FINDINGS)('%s: has tests that exist', (_, ...tests) => {
    expect(tests.length).toBeGreaterThan(0);
    const missing = tests.filter(([file, name]) => {
      const path = join(ROOT, file);
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(name);
    });
    expect(missing).toEqual([]);
  });
});
