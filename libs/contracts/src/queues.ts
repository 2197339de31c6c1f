/** Default names of the queues; configuration may rename them. BullMQ refuses `:` in a name. */
export const QUEUE = {
  filesToBatch: 'files-to-batch-queue',
  fileAnalysis: 'file-analysis-queue',
  analysisCompleted: 'file-analysis-completed',
  deadLetter: 'dead-letter-queue',
} as const;
