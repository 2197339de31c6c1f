-- The roles, in the database of Millrace. Once, as a superuser:  psql -d millrace -f deploy/postgres/roles.sql
-- Then give passwords: \password millrace_owner, and so on.
-- The owner changes tables: only `millrace migrate` runs as it. Each app has a role of its own; `millrace migrate --grants
-- deploy/postgres/app-roles.sql` gives it what its statements need. millrace_app is for the command line: it reads and writes all rows.
DO $$ DECLARE name text; BEGIN
  FOREACH name IN ARRAY ARRAY['owner', 'app', 'producer', 'batcher', 'publisher', 'analyzer', 'dlq'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'millrace_' || name) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', 'millrace_' || name);
    END IF;
  END LOOP;
END $$;
-- The search of dead letters uses it; the owner may not be allowed to install it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO millrace_owner;
GRANT USAGE ON SCHEMA public TO millrace_app, millrace_producer, millrace_batcher, millrace_publisher, millrace_analyzer, millrace_dlq;
-- Also for the tables that later migrations make.
ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO millrace_app;
ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO millrace_app;
