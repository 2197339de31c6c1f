import type { Dialect } from '#database';

/** SQL for the rows of a group as one JSON text: a third of the cost of as many row objects, and it goes to a thread as it is. */
export function jsonList(dialect: Dialect, fields: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(fields).map(([name, value]) => `'${name}', ${value}`);
  return dialect === 'postgres'
    ? `coalesce(json_agg(json_build_object(${pairs.join(', ')}))::text, '[]')`
    : `json_group_array(json_object(${pairs.join(', ')}))`;
}
