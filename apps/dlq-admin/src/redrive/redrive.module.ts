import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { QUEUE } from '#contracts';
import { DlqAdminConfig } from '../dlq-admin.config.js';
import { RedriveWatch } from './redrive-watch.service.js';
import { Resolutions } from './resolutions.service.js';
import { RedrivesRepository } from './redrives.repository.js';

const files = BullModule.registerQueueAsync({
  name: QUEUE.filesToBatch,
  inject: [DlqAdminConfig],
  useFactory: ({ PATH_DISCOVERY_QUEUE }: DlqAdminConfig) => ({ name: PATH_DISCOVERY_QUEUE }),
});

@Module({ imports: [files], providers: [RedriveWatch, RedrivesRepository, Resolutions] })
export class RedriveModule {}
