-- Two roles: the owner changes tables (only `millrace migrate` runs as it), the apps read and write rows.
-- Once, as a superuser, in the database of Millrace:  psql -d millrace -f deploy/postgres/roles.sql
-- Then: \password millrace_owner and \password millrace_app
CREATE ROLE millrace_owner LOGIN;
CREATE ROLE millrace_app LOGIN;
-- The search of dead letters uses it; the owner may not be allowed to install it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO millrace_owner;
GRANT USAGE ON SCHEMA public TO millrace_app;
-- Also for the tables that later migrations make.
ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO millrace_app;
ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA public
  GRANT USAGE, SELECT ON SEQUENCES TO millrace_app;
