import { join, sep } from 'node:path';

export type AppName = 'producer' | 'batcher' | 'outbox-publisher' | 'analyzer' | 'dlq-admin' | 'worker';

const [root = ''] = import.meta.dirname.split(`${sep}apps${sep}cli${sep}`);
const built = root.endsWith('dist') ? root : join(root, 'dist');

/** The built main of an app of this project. */
export function appMain(app: AppName): string {
  return join(built, 'apps', app, 'src/main.js');
}
