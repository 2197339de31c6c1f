import { Module } from '@nestjs/common';
import { RedriveWatch } from './redrive-watch.service.js';
import { RedrivesRepository } from './redrives.repository.js';

@Module({ providers: [RedriveWatch, RedrivesRepository] })
export class RedriveModule {}
