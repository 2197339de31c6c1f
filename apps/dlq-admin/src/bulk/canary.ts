import type { CanarySettings } from '#dlq-client';

export const DEFAULT_CANARY: CanarySettings = { steps: [1, 2, 5, 20, 100, 500], maxFailures: 0 };

/** Where a canary stands: the step that runs, and until which position of the frozen selection it goes. */
export interface CanaryState extends CanarySettings {
  step: number;
  /** The first position after the present step. */
  until: number;
  /** When the step's last letter was requeued and its outcome is awaited; null while it is still being requeued. */
  waitingSince: number | null;
}

type CanaryDecision =
  | { do: 'requeue'; limit: number }
  | { do: 'await' }
  | { do: 'next'; state: CanaryState }
  | { do: 'complete' }
  | { do: 'stop'; reason: string };

const stop = (reason: string): CanaryDecision => ({ do: 'stop', reason });

export interface StepFacts {
  /** Positions below this are done or skipped. */
  position: number;
  total: number;
  /** Letters of the step that have no outcome yet, and those that failed again. */
  pending: number;
  failed: number;
  now: number;
  timeoutMs: number;
}

export function startCanary(settings: CanarySettings): CanaryState {
  return { ...settings, step: 0, until: sizeOf(settings, 0), waitingSince: null };
}

/** The last size repeats, so that a canary of few steps still ends. */
export function sizeOf({ steps }: CanarySettings, step: number): number {
  return steps[Math.min(step, steps.length - 1)] ?? 1;
}

/**
 * What a canary does next. A step is requeued, then awaited until every letter of it has an outcome; a failure too many
 * stops the action with everything else untouched; otherwise the next, larger step begins.
 */
export function decide(state: CanaryState, facts: StepFacts): CanaryDecision {
  const { step } = state;
  if (facts.failed > state.maxFailures) return stop(`${facts.failed} of step ${step + 1} failed again`);
  const until = Math.min(state.until, facts.total);
  if (facts.position < until) return { do: 'requeue', limit: until - facts.position };
  if (facts.pending === 0 && facts.position >= facts.total) return { do: 'complete' };
  const next = { step: step + 1, until: state.until + sizeOf(state, step + 1), waitingSince: null };
  if (facts.pending === 0) return { do: 'next', state: { ...state, ...next } };
  if (state.waitingSince !== null && facts.now - state.waitingSince > facts.timeoutMs)
    return stop(`${facts.pending} of step ${step + 1} had no outcome within ${facts.timeoutMs} ms`);
  return { do: 'await' };
}
