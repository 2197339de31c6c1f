import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

interface Package {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Package;

/** The packages of the design, and where production code rests on each: the import and what is made of it. */
const CARD: [name: string, file: string, use: RegExp][] = [
  ['@nestjs/core', 'libs/service/src/bootstrap.ts', /NestFactory\.create\(/],
  ['@nestjs/config', 'libs/service/src/service.module.ts', /ConfigModule\.forRoot/],
  ['@nestjs/terminus', 'libs/service/src/health.controller.ts', /HealthCheckService/],
  ['@nestjs/bullmq', 'libs/queue-manager/src/queue-manager.module.ts', /BullModule\.forRootAsync\(/],
  ['@nestjs/bullmq', 'apps/batcher/src/batcher.service.ts', /@Processor\(/],
  ['@nestjs/typeorm', 'libs/database/src/database.module.ts', /TypeOrmModule\.forRootAsync\(/],
  ['@nestjs/typeorm', 'apps/dlq-admin/src/access/keys.repository.ts', /@InjectRepository\(/],
  ['bullmq', 'libs/queue-manager/src/job-queue.ts', /extends Queue\b/],
  ['ioredis', 'libs/redis/src/redis-client.ts', /extends Redis\b/],
  ['typeorm', 'libs/database/src/store.ts', /extends DataSource\b/],
  ['sqlite3', 'libs/database/src/sqlite.store.ts', /driver: DRIVER/],
  ['class-validator', 'libs/config/src/decorators.ts', /validat/i],
];

describe('the packages of the design', () => {
  it.each(CARD)('%s is installed and carries %s', (name, file, use) => {
    const text = readFileSync(file, 'utf8');
    expect(Object.keys(dependencies)).toContain(name);
    expect(text).toContain(`from '${name}'`);
    expect(text).toMatch(use);
  });

  it('test with jest and build with the Nest CLI', () => {
    expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining(['jest', '@nestjs/cli']));
    expect(existsSync('nest-cli.json')).toBe(true);
  });
});
