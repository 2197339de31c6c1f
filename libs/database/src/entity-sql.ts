import { getMetadataArgsStorage } from 'typeorm';
import type { ColumnType, RowSet } from './bulk.js';
import { columnName } from './entities/columns.js';
import type { SqlValue } from './query.js';

/** An entity's class. */
type EntityClass<E> = abstract new () => E;
type Property<E> = keyof E & string;

/** For hand-written SQL: the columns of an entity's properties, under the names of the properties. */
export function columnsOf<E>(properties: readonly Property<E>[], table?: string): string {
  const from = table === undefined ? '' : `${table}.`;
  return properties
    .map((property) => [columnName(property), property] as const)
    .map(([column, property]) => `${from}${column}${column === property ? '' : ` AS "${property}"`}`)
    .join(', ');
}

/** For the multi-row statements: rows of an entity's table, of which the named properties are taken as they are stored. */
export function rowsOf<E, P extends Property<E>>(
  entity: EntityClass<E>,
  properties: readonly P[],
  rows: readonly Readonly<Record<P, SqlValue>>[],
): RowSet & { table: string } {
  return {
    table: tableOf(entity),
    columns: typesOf(entity, properties),
    rows: rows.map((row) => properties.map((property) => row[property])),
  };
}

/** For the multi-row statements that take rows as they come: the columns of the named properties, in order. */
export function typesOf<E>(
  entity: EntityClass<E>,
  properties: readonly Property<E>[],
): Record<string, ColumnType> {
  return Object.fromEntries(
    properties.map((property) => [columnName(property), typeOf(entity, property)] as const),
  );
}

function tableOf<E>(entity: EntityClass<E>): string {
  const name = getMetadataArgsStorage().tables.find(({ target }) => target === entity)?.name;
  if (name === undefined) throw new Error(`${entity.name} is no entity: it needs @Entity('table')`);
  return name;
}

function typeOf<E>(entity: EntityClass<E>, property: string): ColumnType {
  const column = getMetadataArgsStorage().columns.find(
    ({ target, propertyName }) => target === entity && propertyName === property,
  );
  if (!column) throw new Error(`${entity.name}.${property} is no column`);
  return column.options.type === 'text' ? 'text' : 'int';
}
