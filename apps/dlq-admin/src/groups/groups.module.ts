import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { GroupsController } from './groups.controller.js';
import { GroupsRepository } from './groups.repository.js';
import { Groups } from './groups.service.js';

@Module({
  imports: [AuditModule],
  controllers: [GroupsController],
  providers: [Groups, GroupsRepository],
})
export class GroupsModule {}
