import { describe, expect, it } from '@jest/globals';
import { DeadLetterEntity } from './entities/dead-letter.entity.js';
import { FenceEntity } from './entities/message.entity.js';
import { columnsOf, rowsOf, typesOf } from './entity-sql.js';

describe('SQL of an entity', () => {
  it('selects columns under the names of the properties', () => {
    expect(columnsOf<DeadLetterEntity>(['id', 'jobId', 'deadLetteredAt'], 'd')).toBe(
      'd.id, d.job_id AS "jobId", d.dead_lettered_at AS "deadLetteredAt"',
    );
    expect(columnsOf<FenceEntity>(['key'])).toBe('key');
  });

  it('takes the named properties of rows, in order, with the table and types of the entity', () => {
    const rows = [{ attemptsMade: 3, jobId: 'j', id: 7, other: 'left out' }];
    expect(rowsOf(DeadLetterEntity, ['id', 'jobId', 'attemptsMade'], rows)).toEqual({
      table: 'dead_letters',
      columns: { id: 'int', job_id: 'text', attempts_made: 'int' },
      rows: [[7, 'j', 3]],
    });
  });

  it('names the columns of properties, in order, with their types', () => {
    const types = typesOf(DeadLetterEntity, ['jobId', 'attemptsMade']);
    expect(Object.entries(types)).toEqual([
      ['job_id', 'text'],
      ['attempts_made', 'int'],
    ]);
  });

  it('refuses what is no column of the entity', () => {
    class Wider extends FenceEntity {
      more = 1;
    }
    expect(() => typesOf(Wider, ['more'])).toThrow('Wider.more is no column');
  });
});
