import { Contract } from '#contracts';
import { Metrics, silentLogger } from '#service';
import { QueueManager, type QueueManagerOptions } from '../src/index.js';

export interface Note {
  text: string;
  trace?: string;
}

/** Four times shorter leaves a loaded machine half a second to renew a lock. */
export const HASTE = 4;

/** A payload for tests: one text. */
export const NOTE = new Contract<Note>('note', (value) => {
  const text: unknown =
    typeof value === 'object' && value !== null && 'text' in value ? value.text : undefined;
  return typeof text === 'string' && text.length <= 1_000
    ? []
    : [{ path: 'text', found: typeof text, rule: 'a string of up to 1000 characters' }];
});

/** A manager with short times: killed workers' jobs are delivered again within 4 s, failed jobs tried again at once. */
export function createManager(options: Partial<QueueManagerOptions> & { url: string }): QueueManager {
  return new QueueManager({
    workerId: 'worker-a',
    logger: silentLogger,
    metrics: new Metrics(),
    retry: { baseMs: 5, maxMs: 20 },
    haste: HASTE,
    ...options,
  });
}

export const notes = (count: number, name = 'note'): { jobId: string; payload: Note }[] =>
  Array.from({ length: count }, (_, index) => ({
    jobId: `${name}-${index}`,
    payload: { text: `${name} ${index}` },
  }));
