export interface ConfigFault {
  key: string;
  /** What was given, secrets masked; undefined when nothing was. */
  found: string | undefined;
  /** Which source gave it. */
  origin: string;
  rule: string;
}

/** The configuration cannot be used. Lists every fault at once; the process exits with code 78. */
export class ConfigError extends Error {
  readonly code = 'INVALID_CONFIG';

  constructor(readonly faults: readonly ConfigFault[]) {
    super(
      `Invalid configuration (${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}):\n${faults.map(line).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

function line({ key, found, origin, rule }: ConfigFault): string {
  return found === undefined ? `  ${key}: missing; ${rule}` : `  ${key}: found ${found} (${origin}); ${rule}`;
}
