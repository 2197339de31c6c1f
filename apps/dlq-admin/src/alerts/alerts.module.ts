import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { Alerts } from './alerts.service.js';
import { SamplesRepository } from './samples.repository.js';
import { StatsController } from './stats.controller.js';
import { ALERTS_QUEUE, AlertWebhook } from './webhook.service.js';

@Module({
  imports: [BullModule.registerQueue({ name: ALERTS_QUEUE })],
  controllers: [StatsController],
  providers: [Alerts, AlertWebhook, SamplesRepository],
})
export class AlertsModule {}
