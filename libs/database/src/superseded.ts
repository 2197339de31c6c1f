/**
 * SQL for "the delivered part `a` (of `analyses`) is torn from the rest": its file changed before all parts were sent, and
 * follows whole as a later revision.
 */
export const SUPERSEDED = `EXISTS (SELECT 1 FROM analyses torn
  WHERE torn.file_id = a.file_id AND torn.revision = a.revision AND torn.outcome = 'stale')`;

/** SQL for "of the batch `b`, delivered, nothing is valid any more": all that it holds is torn or was never sent. */
export const BATCH_SUPERSEDED = `NOT EXISTS (SELECT 1 FROM analyses a
  WHERE a.batch_id = b.id AND a.outcome = 'delivered' AND NOT ${SUPERSEDED})`;
