/** Injection tokens of what every app provides. */
export const LOGGER = Symbol('logger');
export const METRICS = Symbol('metrics');
export const CLOCK = Symbol('clock');
export const IDENTITY = Symbol('identity');
export const LIFECYCLE = Symbol('lifecycle');
export const PIPELINE = Symbol('pipeline');

/** Puts what the process keeps outside the database under the mark of its pipeline; only after the pipeline was started. */
export interface PipelineMark {
  prefixed(base: string): string;
}
