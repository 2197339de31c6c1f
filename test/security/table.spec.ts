import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** The items of the security review (S1 to S48) and the attacks that once worked (V1 to V13): the tests that cover each, by file and name. */
const TESTS: Record<string, [file: string, test: string][]> = {
  S1: [
    ['test/e2e/dlq-access.e2e-spec.ts', 'is refused without a key on every route that the document tells of'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'has a rule for every route that the router knows'],
  ],
  S2: [['test/e2e/dlq-start.e2e-spec.ts', 'refuses a default key, and an open address without a key']],
  S3: [
    ['test/e2e/dlq-access.e2e-spec.ts', 'follows the role on every route'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'has a rule for every route that the router knows'],
  ],
  S4: [['test/e2e/dlq-access.e2e-spec.ts', 'is limited to the queues of a key']],
  S5: [['test/e2e/dlq-access.e2e-spec.ts', 'shows viewers neither payload nor stack']],
  S6: [
    ['test/e2e/dlq-access.e2e-spec.ts', 'leaves no key in the database, the logs or an address'],
    ['apps/dlq-admin/src/access/access.spec.ts', 'hold 256 random bits'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'ends at once when a key is revoked'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'lets a replaced key live for its overlap only'],
  ],
  S7: [
    [
      'apps/dlq-admin/src/access/access.spec.ts',
      'hold 256 random bits, tell their id, and match their hash only',
    ],
  ],
  S8: [['test/e2e/dlq-access.e2e-spec.ts', 'leaves no key in the database, the logs or an address']],
  S10: [
    [
      'test/e2e/dlq-access.e2e-spec.ts',
      'gives browsers a cookie that only they and only this origin can use',
    ],
  ],
  S11: [
    [
      'test/e2e/dlq-access.e2e-spec.ts',
      'gives browsers a cookie that only they and only this origin can use',
    ],
    ['test/e2e/dlq-requests.e2e-spec.ts', 'takes only JSON, never encoded'],
  ],
  S12: [['test/e2e/dlq-requests.e2e-spec.ts', 'sets strict headers, permits no other origin']],
  S13: [['test/e2e/dlq-requests.e2e-spec.ts', 'sets strict headers, permits no other origin']],
  S14: [['test/e2e/dlq-requests.e2e-spec.ts', 'sets strict headers, permits no other origin']],
  S15: [['test/e2e/dlq-page.e2e-spec.ts', 'shows hostile payloads, stacks, names and ids as text']],
  S16: [['test/e2e/dlq-requests.e2e-spec.ts', 'downloads a payload as an inert attachment']],
  S17: [['apps/dlq-admin/src/access/access.spec.ts', 'are inert: %j']],
  S18: [
    ['libs/files/src/open-file.int-spec.ts', 'refuses what lies outside the root, however it is named'],
    ['libs/files/src/open-file.int-spec.ts', 'never reads from outside while another user swaps'],
    ['apps/analyzer/src/sinks.int-spec.ts', 'builds no path from a hostile batch id'],
  ],
  S19: [
    [
      'test/e2e/dlq-requests.e2e-spec.ts',
      'takes only JSON, never encoded, never too large, too deep or too many',
    ],
  ],
  S20: [
    ['test/security/slow.e2e-spec.ts', 'gives up a search that its database (%s) does not end'],
    ['test/e2e/dlq-requests.e2e-spec.ts', 'checks every parameter of a list'],
  ],
  S21: [
    ['libs/service/src/secret-rules.spec.ts', 'take time linear in a text of %j without end'],
    ['test/e2e/dlq-requests.e2e-spec.ts', 'does not stall on a pathological search'],
    ['libs/tree/src/rule-chain.spec.ts', 'are refused, with their numbers'],
  ],
  S22: [
    [
      'test/e2e/dlq-requests.e2e-spec.ts',
      'checks every parameter of a list and takes hostile ones as plain text',
    ],
  ],
  S23: [
    [
      'test/security/dlq-hardening.e2e-spec.ts',
      'does not take a list for a filter, nor a constructor for a field',
    ],
  ],
  S24: [['test/e2e/dlq-requests.e2e-spec.ts', 'checks every parameter of a list']],
  S25: [['test/e2e/dlq-start.e2e-spec.ts', 'hold for all requests of a key, whatever address they claim']],
  S26: [
    [
      'apps/dlq-admin/src/access/access.service.spec.ts',
      'takes as long when nobody has it as when its secret is wrong',
    ],
    ['test/e2e/dlq-access.e2e-spec.ts', 'makes wrong keys wait longer and longer'],
  ],
  S27: [
    ['test/e2e/dlq-approval.e2e-spec.ts', 'wait, and run when another key has approved them'],
    ['test/e2e/dlq-bulk.e2e-spec.ts', 'show what they would do, and run only with the receipt of that'],
    ['test/security/dlq-hardening.e2e-spec.ts', 'takes no confirmation that it has not given to this key'],
  ],
  S28: [
    ['test/e2e/dlq-bulk.e2e-spec.ts', 'are repeated without a second effect under the same Idempotency-Key'],
    ['test/e2e/dlq-letters.e2e-spec.ts', 'are edited only from the version that was read'],
  ],
  S29: [
    ['libs/service/src/secret-rules.spec.ts', '%s: mask what is one, and only that'],
    ['test/e2e/dlq-letters.e2e-spec.ts', 'are stored without secrets'],
    ['libs/service/src/logger.spec.ts', 'masks secrets by key and by shape'],
  ],
  S30: [
    [
      'test/security/fuzz-requests.e2e-spec.ts',
      'answers every route as a request deserves: never 5xx, never with its insides, never late',
    ],
    ['test/e2e/dlq-requests.e2e-spec.ts', 'answers errors with a code and a trace id'],
  ],
  S31: [
    ['libs/service/src/logger.spec.ts', 'keeps one line one line when made readable'],
    ['libs/service/src/logger.spec.ts', 'writes one line whatever control characters a name holds'],
  ],
  S32: [
    ['libs/database/src/audit-log.int-spec.ts', 'refuses to be changed or emptied'],
    ['libs/database/src/audit-log.int-spec.ts', 'keeps no row of a transaction that was rolled back'],
    ['test/e2e/dlq-requests.e2e-spec.ts', 'writes one audit row for each change'],
    ['test/failure/dlq-crash.e2e-spec.ts', 'leaves neither the change nor its audit row'],
  ],
  S33: [
    ['apps/dlq-admin/src/alerts/alerts.spec.ts', 'resolves the name once and goes to the checked address'],
    ['apps/dlq-admin/src/alerts/alerts.spec.ts', 'include %s'],
    ['apps/dlq-admin/src/alerts/alerts.spec.ts', 'a redirect, which is not followed'],
  ],
  S34: [['apps/dlq-admin/src/alerts/alerts.spec.ts', 'sends a body that its receiver can verify']],
  S35: [
    ['test/security/strangers.e2e-spec.ts', 'is no figure without METRICS_KEY'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'is refused without a key on every route'],
  ],
  S36: [['test/e2e/dlq-requests.e2e-spec.ts', 'serves needed methods only']],
  S37: [
    ['test/e2e/deploy-containers.e2e-spec.ts', 'have no right in Redis that they do not use: %s'],
    ['test/e2e/deploy-containers.e2e-spec.ts', 'let nobody into Redis without a password'],
    ['test/e2e/deploy-compose.spec.ts', 'pins a Redis whose known holes are closed'],
  ],
  S38: [
    [
      'test/security/database-roles.e2e-spec.ts',
      'give %s no right over tables or roles, and none over the log of changes but to add',
    ],
    ['test/security/database-roles.e2e-spec.ts', 'are enough to carry a tree'],
    ['libs/database/src/sqlite.int-spec.ts', 'toBe(0o600)'],
  ],
  S39: [['test/e2e/dlq-page.e2e-spec.ts', 'can be read by those who do not see it, and used on a phone']],
  S41: [['test/e2e/deploy-kubernetes.spec.ts', 'runs every container as the restricted profile asks']],
  S42: [
    ['test/e2e/deploy-compose.spec.ts', 'ends in an image without a shell'],
    ['test/e2e/deploy-compose.spec.ts', 'leaves out secrets, history and builds of this machine'],
  ],
  S43: [['test/e2e/deploy-kubernetes.spec.ts', 'gives heaps about three quarters of the memory limit']],
  S44: [
    ['test/security/supply-chain.spec.ts', 'runs install scripts only of packages that were looked at'],
    ['test/security/supply-chain.spec.ts', 'takes every package by its hash'],
  ],
  S45: [
    ['test/security/supply-chain.spec.ts', 'has no package that a known advisory names'],
    ['test/security/supply-chain.spec.ts', 'ships a CycloneDX bill'],
    ['test/security/bill.e2e-spec.ts', 'the build leaves the bill'],
  ],
  S46: [
    ['test/security/supply-chain.spec.ts', 'holds no secret in any file under version control'],
    ['test/e2e/deploy-compose.spec.ts', 'leaves out secrets, history and builds of this machine'],
  ],
  S47: [['test/e2e/dlq-start.e2e-spec.ts', 'let nobody in while the database cannot say who they are']],
  S48: [['test/e2e/cli-dlq.e2e-spec.ts', 'takes the key from a private file or from standard input']],
  V1: [
    ['test/security/another-user.e2e-spec.ts', 'gets it by no job that they change in Redis'],
    ['test/security/another-user.e2e-spec.ts', 'gets it by no letter that they edit and requeue'],
    ['test/e2e/analyzer.e2e-spec.ts', 'sends what its rows say, whatever an edited event says'],
  ],
  V2: [
    ['test/security/another-user.e2e-spec.ts', 'has nothing carried from where it leads in 1,000 swaps'],
    ['libs/files/src/open-file.int-spec.ts', 'refuses a file whose folder became a link'],
    ['libs/tree/src/folder-lister.int-spec.ts', 'bring no %s from outside the root'],
  ],
  V3: [
    ['test/e2e/dlq-start.e2e-spec.ts', 'without a key serves nobody, and says so'],
    ['test/e2e/dlq-start.e2e-spec.ts', 'with AUTH=off serves this machine only'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'can be had by a code that works once'],
  ],
  V4: [
    ['libs/service/src/secret-rules.spec.ts', 'take time linear in a text of %j without end'],
    ['test/e2e/dlq-letters.e2e-spec.ts', 'that fail their intake twice are set aside as they are'],
  ],
  V5: [
    [
      'test/security/dlq-hardening.e2e-spec.ts',
      'lets an admin of some queues give, see and end keys for those only',
    ],
  ],
  V6: [['test/security/dlq-hardening.e2e-spec.ts', 'shows viewers no value of a payload']],
  V7: [['libs/service/src/secret-rules.spec.ts', '%s: mask what is one, and only that']],
  V8: [
    ['libs/database/src/audit-log.int-spec.ts', 'shows that its end was cut off'],
    ['libs/database/src/audit-log.int-spec.ts', 'refuses to be changed or emptied'],
    ['libs/database/src/audit-log.int-spec.ts', 'with a key cannot be written anew by one who has none'],
    ['test/security/dlq-hardening.e2e-spec.ts', 'finds that the end of its audit log was cut off'],
  ],
  V9: [['libs/tree/src/rule-chain.spec.ts', 'are refused, with their numbers, where it could take for ever']],
  V10: [
    ['test/e2e/dlq-start.e2e-spec.ts', 'of an address never lock out a right key'],
    ['test/e2e/dlq-access.e2e-spec.ts', 'makes wrong keys wait longer and longer'],
  ],
  V11: [
    ['apps/dlq-admin/src/ingest/mask.spec.ts', 'with 200,000 items, or as many below thousands of levels'],
    ['test/e2e/dlq-letters.e2e-spec.ts', 'that are hostile in shape are taken in like any other'],
  ],
  V12: [
    ['test/security/dlq-hardening.e2e-spec.ts', 'takes no confirmation that it has not given to this key'],
  ],
  V13: [
    [
      'test/security/dlq-hardening.e2e-spec.ts',
      'answers 400 to cursors, ids and texts that its database would choke on',
    ],
  ],
  S9: [
    [
      'apps/dlq-admin/src/access/identity-tokens.int-spec.ts',
      'are refused when forged, expired, for others, without a role, or by another way of signing',
    ],
    ['apps/dlq-admin/src/access/identity-tokens.int-spec.ts', 'are not taken until an issuer is configured'],
    [
      'apps/dlq-admin/src/access/identity-tokens.int-spec.ts',
      'let nobody in while the keys of the issuer cannot be had',
    ],
  ],
  S40: [
    ['test/security/dlq-hardening.e2e-spec.ts', 'ends the stream of a key that is revoked'],
    ['test/security/dlq-hardening.e2e-spec.ts', 'serves one stream, which is bounded'],
  ],
};

describe('the security table', () => {
  const rows = [
    ...Array.from({ length: 48 }, (_, n) => `S${n + 1}`),
    ...Array.from({ length: 13 }, (_, n) => `V${n + 1}`),
  ];

  it('has every row, each with a test', () => {
    expect(Object.keys(TESTS).sort()).toEqual([...rows].sort());
  });

  it.each(Object.entries(TESTS))('%s names tests that exist', (_, tests) => {
    const missing = tests.filter(([file, test]) => {
      const path = join(ROOT, file);
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(test);
    });
    expect([tests.length > 0, missing]).toEqual([true, []]);
  });
});
