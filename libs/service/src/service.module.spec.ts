import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { Test, type TestingModule } from '@nestjs/testing';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int, loadConfig, OPTIONAL, Secret } from '#config';
import { tempFolder, type TempFolder } from '#testing';
import { Lifecycle, Metrics, ServiceConfig, silentLogger } from './index.js';
import { ServiceModule } from './service.module.js';

class Web {
  @Int('Where to listen.', 8080, [0, 65_535])
  PORT!: number;

  @Secret('A password.', OPTIONAL)
  SPEC_API_KEY?: string;
}

@Injectable()
class Consumer {
  constructor(readonly config: Web) {}
}

describe('the configuration in the container', () => {
  const home = process.cwd();
  let folder: TempFolder;
  let app: TestingModule;

  beforeEach(async () => {
    folder = await tempFolder('typed-config');
    await writeFile(join(folder.path, '.env'), 'SPEC_API_KEY=hunter2\nPORT=1\n');
    process.chdir(folder.path);
    const groups = { web: Web, service: ServiceConfig };
    const config = loadConfig(groups, { env: { PORT: '2' }, cwd: folder.path });
    const context = { logger: silentLogger, metrics: new Metrics(), identity: { app: 'a', workerId: 'w' } };
    const lifecycle = new Lifecycle([], { logger: silentLogger, startupTimeoutMs: 0 });
    const imports = [ServiceModule.forRoot(context, lifecycle, groups, config)];
    app = await Test.createTestingModule({ imports, providers: [Consumer] }).compile();
  });

  afterEach(async () => {
    process.chdir(home);
    await app.close();
    await folder.remove();
  });

  it('is injected by its class, and is a namespace of ConfigService', () => {
    expect(app.get(Consumer).config).toMatchObject({ PORT: 2, SPEC_API_KEY: 'hunter2' });
    expect(app.get(ConfigService).get('web.PORT')).toBe(2);
    expect(app.get(ConfigService).get('web')).toBe(app.get(Web));
  });

  it('leaves the environment alone: children inherit no secret of .env', () => {
    expect(process.env).not.toHaveProperty('SPEC_API_KEY');
  });

  it('has no value that our sources did not check', () => {
    expect(app.get(ConfigService).get('PATH')).toBeUndefined();
    expect(app.get(ConfigService).get('SPEC_API_KEY')).toBeUndefined();
  });
});
