import type { Command } from 'commander';
import { withDlqAdmin, type ConnectionOptions } from '../../dlq/connection.js';

export function addLink(dlq: Command): void {
  dlq
    .command('link')
    .summary('print an address that signs a browser in once')
    .description(
      'An address of the page with a code that signs a browser in once, within the hour, as this key.',
    )
    .action(async (_: unknown, command: Command) => {
      const link = await withDlqAdmin(command.optsWithGlobals<ConnectionOptions>(), async (client, url) => {
        const { code } = await client.signInCode();
        return `${url}/#code=${code}`;
      });
      process.stdout.write(`${link}\n`);
    });
}
