import {
  distinctFiles,
  type BatchesUnit,
  type CommitUnit,
} from '../../../../apps/batcher/src/committing/commit-unit.js';
import { CommitRepository } from '../../../../apps/batcher/src/committing/commit.repository.js';
import type { Database, EntityManager } from '#database';

// A batcher with a planted error: files are called batched in a transaction of their own, and their jobs complete, before
// the batch is committed. A crash in between loses the batch, and nothing is left that knows of it.
type Files = ReturnType<typeof distinctFiles>;
interface Inner {
  database: Database;
  markBatchedIfOpen(tx: EntityManager, files: Files): Promise<Set<unknown>>;
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- called below with its object
const { commit } = CommitRepository.prototype;

CommitRepository.prototype.commit = async function (units: readonly CommitUnit[]) {
  const inner = this as unknown as Inner;
  const drafts = units
    .filter((unit): unit is BatchesUnit => unit.kind === 'batches')
    .flatMap((unit) => unit.drafts);
  const marked = await inner.database.inTransaction((tx) =>
    inner.markBatchedIfOpen(tx, distinctFiles(drafts)),
  );
  const later = Object.create(this, {
    markBatchedIfOpen: { value: () => Promise.resolve(marked) },
  }) as CommitRepository;
  void commit.call(later, units);
  return { batches: [], refused: 0, touched: 0, onTheirWay: new Set<string>() };
};

await import('../../../../apps/batcher/src/main.js');
