import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';

/** A raw row (of RETURNING, say) as its entity: property names, numbers, flags and JSON as a repository would give them. */
export function hydrate<E extends ObjectLiteral>(
  manager: EntityManager,
  target: EntityTarget<E>,
  row: object,
): E {
  const { columns } = manager.connection.getMetadata(target);
  const raw = row as Record<string, unknown>;
  const entity = manager.create(target);
  for (const { propertyName, databaseName, transformer } of columns) {
    const value = raw[databaseName];
    const single = Array.isArray(transformer) ? undefined : transformer;
    Object.assign(entity, { [propertyName]: single ? (single.from(value) as unknown) : value });
  }
  return entity;
}
