import { DeliveryRepository } from '../../../../apps/analyzer/src/delivery.repository.js';
import { OpenBatches } from '../../../../apps/analyzer/src/open-batches.repository.js';
import { Inbox } from '#outbox';

// An analyzer with a planted error: it asks neither the inbox nor the batch whether a delivery was recorded before.
const inner = DeliveryRepository.prototype as unknown as {
  completeIfOpen: (tx: unknown, deliveries: unknown[]) => Promise<unknown[]>;
};
const { completeIfOpen } = inner;
const open = OpenBatches.prototype as unknown as { stateOf: (row: object, trees: unknown) => unknown };
const { stateOf } = open;

open.stateOf = function (row, trees) {
  return stateOf.call(this, { ...row, completed_at: null }, trees);
};
Inbox.prototype.recordAll = (_tx, _consumer, ids) => Promise.resolve(new Set(ids));
inner.completeIfOpen = async function (tx, deliveries) {
  await completeIfOpen.call(this, tx, deliveries);
  return deliveries;
};

await import('../../../../apps/analyzer/src/main.js');
