import { AlertStateEntity } from './alert-state.entity.js';
import { AnalysisEntity } from './analysis.entity.js';
import { ApiKeyEntity } from './api-key.entity.js';
import { AuditEntryEntity } from './audit-entry.entity.js';
import { BatchItemEntity } from './batch-item.entity.js';
import { BatchEntity } from './batch.entity.js';
import { BulkActionItemEntity } from './bulk-action-item.entity.js';
import { BulkActionEntity } from './bulk-action.entity.js';
import { DeadLetterGroupEntity } from './dead-letter-group.entity.js';
import { DeadLetterHistoryEntity } from './dead-letter-history.entity.js';
import { DeadLetterTextEntity } from './dead-letter-text.entity.js';
import { DeadLetterTallyEntity } from './dead-letter-tally.entity.js';
import { DeadLetterEntity } from './dead-letter.entity.js';
import { DepthSampleEntity } from './depth-sample.entity.js';
import { FenceEntity } from './fence.entity.js';
import { FileEntity } from './file.entity.js';
import { FolderEntity } from './folder.entity.js';
import { IdempotencyKeyEntity } from './idempotency-key.entity.js';
import { InboxEntryEntity } from './inbox-entry.entity.js';
import { OutboxEventEntity } from './outbox-event.entity.js';
import { PipelineEntity } from './pipeline.entity.js';
import { RootEntity } from './root.entity.js';
import { ScanEntity } from './scan.entity.js';
import { SessionEntity } from './session.entity.js';
import { SharedSecretEntity } from './shared-secret.entity.js';
import { TokenCountEntity } from './token-count.entity.js';

export * from './alert-state.entity.js';
export * from './analysis.entity.js';
export * from './api-key.entity.js';
export * from './audit-entry.entity.js';
export * from './batch-item.entity.js';
export * from './batch.entity.js';
export * from './bulk-action-item.entity.js';
export * from './bulk-action.entity.js';
export * from './dead-letter-group.entity.js';
export * from './dead-letter-history.entity.js';
export * from './dead-letter-tally.entity.js';
export * from './dead-letter-text.entity.js';
export * from './dead-letter.entity.js';
export * from './depth-sample.entity.js';
export * from './fence.entity.js';
export * from './file.entity.js';
export * from './folder.entity.js';
export * from './idempotency-key.entity.js';
export * from './inbox-entry.entity.js';
export * from './outbox-event.entity.js';
export * from './pipeline.entity.js';
export * from './root.entity.js';
export * from './scan.entity.js';
export * from './session.entity.js';
export * from './shared-secret.entity.js';
export * from './token-count.entity.js';

/** Every table; a test compares them with what the migrations made. */
export const ENTITIES = [
  AlertStateEntity,
  AnalysisEntity,
  ApiKeyEntity,
  AuditEntryEntity,
  BatchItemEntity,
  BatchEntity,
  BulkActionItemEntity,
  BulkActionEntity,
  DeadLetterGroupEntity,
  DeadLetterHistoryEntity,
  DeadLetterTallyEntity,
  DeadLetterTextEntity,
  DeadLetterEntity,
  DepthSampleEntity,
  FenceEntity,
  FileEntity,
  FolderEntity,
  IdempotencyKeyEntity,
  InboxEntryEntity,
  OutboxEventEntity,
  PipelineEntity,
  RootEntity,
  ScanEntity,
  SessionEntity,
  SharedSecretEntity,
  TokenCountEntity,
];
