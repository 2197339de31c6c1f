import { once } from 'node:events';
import { join } from 'node:path';
import { PROJECT_ROOT, spawnProgram, type Child } from '#testing';

export interface CliOrder {
  args: readonly string[];
  env: Record<string, string | undefined>;
}

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Commands of `millrace` in one process, one after another: most of what a command costs is its start. */
export class CliHost {
  private readonly child: Child = spawnProgram(
    process.execPath,
    [
      '--import',
      join(PROJECT_ROOT, 'scripts/typescript.mjs'),
      join(import.meta.dirname, 'cli-host.process.ts'),
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  );
  private turn: Promise<unknown> = Promise.resolve();

  run(args: readonly string[], env: CliOrder['env'] = {}): Promise<CliResult> {
    const result = this.turn.then(async () => {
      const answer = once(this.child.process, 'message');
      this.child.process.send({ args, env } satisfies CliOrder);
      const died = this.child.exited.then(() => Promise.reject(new Error(`died: ${this.child.stderr}`)));
      const [message] = (await Promise.race([answer, died])) as [CliResult];
      return message;
    });
    this.turn = result.catch(() => {});
    return result;
  }

  async stop(): Promise<void> {
    await this.child.end('SIGKILL');
  }
}
