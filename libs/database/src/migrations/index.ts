import { files } from './0001-files.js';
import { batches } from './0002-batches.js';
import { messages } from './0003-messages.js';
import { deadLetters } from './0004-dead-letters.js';
import { access } from './0005-access.js';
import { listingDigest } from './0006-listing-digest.js';
import { deadLetterSearch } from './0007-dead-letter-search.js';
import { hashPrefix } from './0008-hash-prefix.js';
import { pipeline } from './0009-pipeline.js';
import { sentContent } from './0010-sent-content.js';
import { auditGuard } from './0011-audit-guard.js';
import { answers } from './0012-answers.js';
import { approvals } from './0013-approvals.js';
import { fileJobs } from './0014-file-jobs.js';
import { onCall } from './0015-on-call.js';
import type { Migration } from './migration.js';

export const MIGRATIONS: readonly Migration[] = [
  files,
  batches,
  messages,
  deadLetters,
  access,
  listingDigest,
  deadLetterSearch,
  hashPrefix,
  pipeline,
  sentContent,
  auditGuard,
  answers,
  approvals,
  fileJobs,
  onCall,
];
