import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AuditModule } from '../audit/audit.module.js';
import { LettersModule } from '../letters/letters.module.js';
import { BulkActionsController } from './bulk-actions.controller.js';
import { BulkActionsRepository } from './bulk-actions.repository.js';
import { BulkActions } from './bulk-actions.service.js';
import { BulkRunner } from './bulk-runner.service.js';
import { Outcomes } from './outcomes.service.js';

@Module({
  imports: [AccessModule, AuditModule, LettersModule],
  controllers: [BulkActionsController],
  providers: [BulkActions, BulkActionsRepository, BulkRunner, Outcomes],
  exports: [BulkActions],
})
export class BulkModule {}
