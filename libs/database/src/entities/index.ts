import * as access from './access.entity.js';
import * as batch from './batch.entity.js';
import * as deadLetter from './dead-letter.entity.js';
import * as message from './message.entity.js';
import * as scan from './scan.entity.js';

export * from './access.entity.js';
export * from './batch.entity.js';
export * from './dead-letter.entity.js';
export * from './message.entity.js';
export * from './scan.entity.js';

/** Every table; a test compares them with what the migrations made. */
export const ENTITIES = Object.values({ ...access, ...batch, ...deadLetter, ...message, ...scan }).filter(
  (each) => typeof each === 'function',
);
