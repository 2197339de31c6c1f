/** Injection tokens of what every app provides. */
export const LOGGER = Symbol('logger');
export const METRICS = Symbol('metrics');
export const CLOCK = Symbol('clock');
export const IDENTITY = Symbol('identity');
export const LIFECYCLE = Symbol('lifecycle');
