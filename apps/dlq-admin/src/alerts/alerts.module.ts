import { Module } from '@nestjs/common';
import { Alerts } from './alerts.service.js';
import { SamplesRepository } from './samples.repository.js';
import { StatsController } from './stats.controller.js';
import { AlertWebhook } from './webhook.service.js';

@Module({ controllers: [StatsController], providers: [Alerts, AlertWebhook, SamplesRepository] })
export class AlertsModule {}
