import { dialectOf, type EntityManager } from '#database';

/** A list of texts as one parameter, whatever its length; `idIn` reads it. */
export function idList(manager: EntityManager, ids: readonly string[]): unknown {
  return dialectOf(manager) === 'postgres' ? ids : JSON.stringify(ids);
}

/** SQL for "is in the list that is parameter `position`". */
export function idIn(manager: EntityManager, position: number): string {
  return dialectOf(manager) === 'postgres'
    ? `= ANY($${position}::text[])`
    : `IN (SELECT value FROM json_each($${position}))`;
}
