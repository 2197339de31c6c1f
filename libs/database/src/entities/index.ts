import * as tables from './tables.js';

export * from './tables.js';

/** Every table; a test compares them with what the migrations made. */
export const ENTITIES = Object.values(tables).filter((each) => typeof each === 'function');
