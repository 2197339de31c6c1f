/** Every key of every app, so that one shared JSON file can serve them all. Kept true by the documentation test. */
export const KNOWN_KEYS: readonly string[] = [];
