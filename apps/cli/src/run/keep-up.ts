import { DlqClient } from '#dlq-client';
import { sleep } from '#service';
import { CliError } from '../cli.errors.js';
import type { Fleet } from '../fleet/fleet.js';
import { aborted } from './run.js';

const TRY_AGAIN_MS = 200;
const LINK_TRIES = 50;

interface Kept {
  fleet: Fleet;
  adminKey: string;
  stop: AbortSignal;
  /** Tells other commands where dlq-admin is. */
  tell: (adminUrl: string) => Promise<void>;
}

/** Leaves the services up until they are to end; one that cannot be kept running ends it with its reason. */
export async function keepUp({ fleet, adminKey, stop, tell }: Kept): Promise<void> {
  const port = await fleet.portOf('dlq-admin', stop);
  const adminUrl = `http://127.0.0.1:${port ?? 0}`;
  await tell(adminUrl);
  const link = await signInLink(new DlqClient({ url: adminUrl, key: adminKey }), adminUrl, stop);
  process.stderr.write(`Services stay up; Ctrl-C ends them. Dead letters: ${link}\n`);
  const failed = await Promise.race([aborted(stop), fleet.failed]);
  if (failed !== 'stopped') throw new CliError(failed.reason, failed.code);
}

/** An address that signs a browser in once, as soon as dlq-admin answers; the bare one when it does not. */
async function signInLink(admin: DlqClient, adminUrl: string, stop: AbortSignal): Promise<string> {
  for (let tries = 0; tries < LINK_TRIES && !stop.aborted; tries++) {
    const made = await admin.signInCode().catch(() => undefined);
    if (made) return `${adminUrl}/#code=${made.code} (signs in once; \`millrace dlq link\` makes another)`;
    await sleep(TRY_AGAIN_MS, stop);
  }
  return adminUrl;
}
