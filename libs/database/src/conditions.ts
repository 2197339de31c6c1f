/**
 * Whether a file's hash is one of the given: a condition that the index on the first eight digits serves. `values` are SQL:
 * placeholders, or a column of the hashes that are looked for.
 */
export function hashIsOneOf(column: string, values: readonly string[]): string {
  const prefixes = values.map(prefixOf).join(', ');
  return `${prefixOf(column)} IN (${prefixes}) AND ${column} IN (${values.join(', ')})`;
}

function prefixOf(hash: string): string {
  return `substr(${hash}, 1, 8)`;
}

/**
 * SQL for "the delivered part `a` (of `analyses`) is torn from the rest": its file changed before all parts were sent, and
 * follows whole as a later revision.
 */
export const SUPERSEDED = `EXISTS (SELECT 1 FROM analyses torn
  WHERE torn.file_id = a.file_id AND torn.revision = a.revision AND torn.outcome = 'stale')`;

/** SQL for "of the batch `b`, delivered, nothing is valid any more": all that it holds is torn or was never sent. */
export const BATCH_SUPERSEDED = `NOT EXISTS (SELECT 1 FROM analyses a
  WHERE a.batch_id = b.id AND a.outcome = 'delivered' AND NOT ${SUPERSEDED})`;
