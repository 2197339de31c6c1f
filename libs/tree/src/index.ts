export { fileEntry, seenAgain } from './file-entry.js';
export { FolderLister } from './folder-lister.js';
export * from './listing.js';
export type { RefusedLine } from './rule-chain.js';
