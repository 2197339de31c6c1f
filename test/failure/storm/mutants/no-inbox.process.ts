import { DeliveryRepository } from '../../../../apps/analyzer/src/delivery.repository.js';
import { Inbox } from '#outbox';

// An analyzer with a planted error: it asks neither the inbox nor the batch whether a delivery was recorded before.
const inner = DeliveryRepository.prototype as unknown as {
  completeIfOpen: (...args: unknown[]) => Promise<boolean>;
};
const { completeIfOpen } = inner;

DeliveryRepository.prototype.stateOf = () => Promise.resolve('open');
Inbox.prototype.record = () => Promise.resolve(true);
inner.completeIfOpen = async function (...args) {
  await completeIfOpen.apply(this, args);
  return true;
};

await import('../../../../apps/analyzer/src/main.js');
