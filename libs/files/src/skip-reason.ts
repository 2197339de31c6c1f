interface ReasonFacts {
  /** Who says so: a scan by what it lists, or a reader by what it opens. */
  by: 'scan' | 'reader';
  /** The outside can undo it without a change that a listing shows: the next scan has such files looked at again. */
  open: boolean;
}

/** Why a file is registered but not carried. */
const SKIP_REASONS = {
  binary: { by: 'reader', open: false },
  duplicate: { by: 'reader', open: false },
  empty: { by: 'reader', open: false },
  'path-too-long': { by: 'reader', open: false },
  vanished: { by: 'reader', open: true },
  'not-a-file': { by: 'reader', open: true },
  'outside-root': { by: 'reader', open: true },
  changed: { by: 'reader', open: true },
  unreadable: { by: 'scan', open: true },
  'too-large': { by: 'scan', open: false },
  fifo: { by: 'scan', open: false },
  socket: { by: 'scan', open: false },
  device: { by: 'scan', open: false },
  symlink: { by: 'scan', open: false },
  'symlink-broken': { by: 'scan', open: false },
  'symlink-outside-root': { by: 'scan', open: false },
  'symlink-loop': { by: 'scan', open: false },
  'symlink-alias': { by: 'scan', open: false },
} as const satisfies Record<string, ReasonFacts>;

export type SkipReason = keyof typeof SKIP_REASONS;

const REASONS = Object.keys(SKIP_REASONS) as SkipReason[];

export const OPEN_SKIP_REASONS = REASONS.filter((reason) => SKIP_REASONS[reason].open);

/** The reasons that a scan gives and may take back. */
export const SCAN_SKIP_REASONS = REASONS.filter((reason) => SKIP_REASONS[reason].by === 'scan');

export function isOpenReason(reason: string | null): boolean {
  return (OPEN_SKIP_REASONS as (string | null)[]).includes(reason);
}
