export const CHANNEL = 'millrace_outbox';

/** SQL that, at commit, wakes every publisher that listens. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', '')`;
