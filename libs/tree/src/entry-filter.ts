import picomatch from 'picomatch';
import type { LeaveOutReason, ListingRules } from './listing.js';
import { isIgnored, type ChainLink } from './rule-chain.js';

interface Candidate {
  name: string;
  folder: boolean;
  /** Names from the root down to the entry; put together only where a rule needs them. */
  segments: () => readonly string[];
}

type Test = (path: string) => boolean;

/** Decides by name which entries are left out, and why. Knows nothing of the file system. */
export class EntryFilter {
  private readonly included: Test | undefined;
  private readonly excluded: Test | undefined;
  private readonly needsSegments: boolean;

  constructor(private readonly rules: ListingRules) {
    this.included = matcher(rules.include);
    this.excluded = matcher(rules.exclude);
    this.needsSegments = Boolean(this.included ?? this.excluded);
  }

  /** The reason to leave the entry out, or undefined to keep it. */
  leaveOut(entry: Candidate, link: ChainLink): LeaveOutReason | undefined {
    if (!this.rules.hidden && entry.name.startsWith('.')) return 'hidden';
    // What git itself never looks into.
    if (this.rules.gitignore && entry.folder && entry.name === '.git') return 'ignored';
    const path = this.needsSegments ? entry.segments().join('/') : '';
    if (this.excluded?.(path)) return 'excluded';
    if (link.ruled && isIgnored(link, entry.folder ? withSlash(entry.segments()) : entry.segments()))
      return 'ignored';
    if (!entry.folder && this.included && !this.included(path)) return 'not-included';
    return undefined;
  }
}

/** A pattern without a slash matches names at any depth, as in .gitignore; one with a slash matches from the root. */
function matcher(patterns: readonly string[]): Test | undefined {
  if (patterns.length === 0) return undefined;
  const tests = patterns.map((pattern) =>
    picomatch(pattern.replace(/\/$/, ''), { dot: true, basename: !pattern.replace(/\/$/, '').includes('/') }),
  );
  return (path) => tests.some((test) => test(path));
}

function withSlash(segments: readonly string[]): string[] {
  return [...segments.slice(0, -1), `${segments.at(-1) ?? ''}/`];
}
