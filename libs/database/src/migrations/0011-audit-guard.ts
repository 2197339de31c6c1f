import type { Migration } from './migration.js';

/** The audit log only grows, whoever writes; and secrets that the replicas of an app share. */
export const auditGuard: Migration = {
  version: 11,
  name: 'audit-guard',
  statements: ({ dialect, int, keyed }) => [
    ...(dialect === 'sqlite' ? SQLITE : POSTGRES),
    `CREATE TABLE shared_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL, created_at ${int} NOT NULL) ${keyed}`,
  ],
};

const REFUSAL = 'audit_log only grows';

const SQLITE = ['UPDATE', 'DELETE'].map(
  (verb) => `CREATE TRIGGER audit_log_no_${verb.toLowerCase()} BEFORE ${verb} ON audit_log
    BEGIN SELECT RAISE(ABORT, '${REFUSAL}'); END`,
);

const POSTGRES = [
  `CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''${REFUSAL}''; END'`,
  `CREATE TRIGGER audit_log_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()`,
];
