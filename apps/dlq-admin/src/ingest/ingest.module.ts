import { Module } from '@nestjs/common';
import { Intake } from './intake.service.js';

@Module({ providers: [Intake] })
export class IngestModule {}
