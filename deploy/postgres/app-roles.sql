-- What each app's role may do: what its statements need. As the owner of the tables, after roles.sql and after each migration, which
-- may add tables; `millrace migrate --grants deploy/postgres/app-roles.sql` does both.

-- Whose work the database holds, and whether its tables are up to date.
GRANT SELECT ON schema_migrations TO millrace_producer, millrace_batcher, millrace_publisher, millrace_analyzer, millrace_dlq;
GRANT SELECT, INSERT, UPDATE ON pipeline TO millrace_producer, millrace_batcher, millrace_publisher, millrace_analyzer, millrace_dlq;

GRANT SELECT, INSERT, UPDATE ON roots, scans, folders, files, fences TO millrace_producer;

GRANT SELECT ON roots, folders, analyses TO millrace_batcher;
GRANT SELECT (id, queue, job_id, status) ON dead_letters TO millrace_batcher;
GRANT SELECT, UPDATE ON files TO millrace_batcher;
GRANT SELECT, INSERT ON batches, batch_items, token_counts, outbox TO millrace_batcher;

GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO millrace_publisher;
-- UPDATE for the lock on the rows that it deletes.
GRANT SELECT, UPDATE, DELETE ON inbox TO millrace_publisher;
GRANT SELECT, UPDATE ON batches TO millrace_publisher;
GRANT SELECT ON dead_letters TO millrace_publisher;

GRANT SELECT ON roots, folders, batch_items TO millrace_analyzer;
GRANT SELECT, UPDATE ON files, batches TO millrace_analyzer;
GRANT SELECT, INSERT ON analyses, inbox, outbox TO millrace_analyzer;

GRANT SELECT, INSERT, UPDATE ON dead_letters, dead_letter_groups, dead_letter_history, dead_letter_texts,
  bulk_actions, bulk_action_items, api_keys, outbox TO millrace_dlq;
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions, idempotency_keys, alert_states, depth_samples, dead_letter_tallies,
  dead_letter_hours TO millrace_dlq;
GRANT SELECT, INSERT ON audit_log, shared_secrets TO millrace_dlq;
GRANT SELECT ON roots, scans, folders, batches, batch_items, analyses, inbox TO millrace_dlq;
GRANT SELECT, UPDATE ON files TO millrace_dlq;
