import { spawnSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { spawnProgram } from './child.js';
import { freePort } from './free-port.js';
import { NotRunHere } from './not-run.js';
import { tempFolder } from './temp-folder.js';

export interface PgBouncer {
  /** The same database as behind `target`, through the pooler. */
  url: string;
  stop: () => Promise<void>;
}

export interface PgBouncerOptions {
  /** The address of a database. */
  target: string;
  mode?: 'transaction' | 'session' | 'statement';
  /** Startup parameters that are taken and thrown away; any other that it does not know is refused. */
  ignored?: string;
}

/** A PgBouncer of one's own before a PostgreSQL. NotRunHere where the program is missing. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  if (spawnSync('pgbouncer', ['--version']).error) throw new NotRunHere('pgbouncer is not installed');
  const folder = await tempFolder('pgbouncer');
  const port = await freePort();
  const file = `${folder.path}/pgbouncer.ini`;
  await writeFile(file, settings(options, port));
  // It refuses to be root, and then reads its file as somebody else.
  await chmod(folder.path, 0o755);
  const child = spawnProgram('pgbouncer', [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file]);
  await child.output('process up');
  const url = new URL(options.target);
  url.port = String(port);
  const stop = async (): Promise<void> => {
    await child.end('SIGTERM');
    await folder.remove();
  };
  return { url: url.href, stop };
}

function settings({ target, mode = 'transaction', ignored }: PgBouncerOptions, port: number): string {
  const { hostname, port: targetPort, username, password } = new URL(target);
  return [
    '[databases]',
    `* = host=${hostname} port=${targetPort} user=${username} password=${password}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1`,
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 20',
    'max_client_conn = 200',
    ...(ignored ? [`ignore_startup_parameters = ${ignored}`] : []),
  ].join('\n');
}
