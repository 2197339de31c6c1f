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
    const from =
      transformer && !Array.isArray(transformer)
        ? (transformer.from as (value: unknown) => unknown)
        : undefined;
    Object.assign(entity, { [propertyName]: from ? from(value) : value });
  }
  return entity;
}
