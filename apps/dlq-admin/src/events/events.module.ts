import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { EventsController } from './events.controller.js';

@Module({ imports: [AuditModule], controllers: [EventsController] })
export class EventsModule {}
