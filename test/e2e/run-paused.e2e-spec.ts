import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '#testing';
import { RecordingAnalyser } from './recording-analyser.js';
import { useRunRig } from './run-rig.js';

const QUEUE = 'file-analysis-queue';

describe('a run whose queue somebody paused', () => {
  const rig = useRunRig();
  let analyser: RecordingAnalyser;
  beforeAll(async () => void (analyser = await RecordingAnalyser.start()));
  afterAll(() => analyser.stop());

  it('says so and waits, as does the status, until the queue is resumed', async () => {
    await writeFile(join(rig.tree, 'a.txt'), 'a line of text\n');
    analyser.busy = Infinity;
    const run = rig.run('--url', analyser.url, '--keep', '--patience', '120');
    await eventually(
      async () => {
        const pause = rig.millrace(['queues', 'pause', QUEUE]);
        expect([(await pause.exited).code, pause.stdout]).toEqual([0, `${QUEUE} is paused\n`]);
      },
      { timeoutMs: 120_000 },
    );
    analyser.busy = 0;
    await run.output(
      `Waiting: ${QUEUE} is paused; \`millrace queues resume ${QUEUE}\` lets it go on`,
      60_000,
    );
    const status = rig.millrace(['status']);
    await status.exited;
    expect(status.stdout).toMatch(new RegExp(`${QUEUE} .*PAUSED`));
    expect(analyser.requests).toEqual([]);
    await rig.millrace(['queues', 'resume', QUEUE]).exited;
    await run.output('Services stay up', 60_000);
    expect(analyser.requests).toHaveLength(1);
  }, 240_000);
});
