/**
 * One unit of work. `process` may run at the same time as any other item, looks at `signal` between its steps and ends
 * early when it is aborted, and rejects to report failure. `id` names the item in logs and errors.
 */
export interface WorkItem {
  readonly id: string;
  process(signal: AbortSignal): Promise<void>;
}
