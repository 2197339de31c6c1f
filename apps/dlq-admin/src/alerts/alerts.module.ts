import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AlertStateEntity } from '#database';
import { AuditModule } from '../audit/audit.module.js';
import { AlertStates } from './alert-states.repository.js';
import { Alerts } from './alerts.service.js';
import { SamplesRepository } from './samples.repository.js';
import { StatsController } from './stats.controller.js';
import { ALERTS_QUEUE, AlertWebhook } from './webhook.service.js';

@Module({
  imports: [
    AuditModule,
    BullModule.registerQueue({ name: ALERTS_QUEUE }),
    TypeOrmModule.forFeature([AlertStateEntity]),
  ],
  controllers: [StatsController],
  providers: [Alerts, AlertStates, AlertWebhook, SamplesRepository],
})
export class AlertsModule {}
