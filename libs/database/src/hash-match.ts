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
