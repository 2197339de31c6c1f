/** Injection tokens of what every app provides. */
export const LOGGER = Symbol('logger');
/** That of the whole process, where LOGGER is that of a role in it. */
export const PROCESS_LOGGER = Symbol('process logger');
export const CLOCK = Symbol('clock');
export const IDENTITY = Symbol('identity');
export const PIPELINE = Symbol('pipeline');

/** Puts what the process keeps outside the database under the mark of its pipeline; only after the pipeline was started. */
export interface PipelineMark {
  prefixed(base: string): string;
}

/** Who this process is: its app and the id that logs, claims and dead letters carry. */
export interface Identity {
  app: string;
  workerId: string;
}
