import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { BulkModule } from '../bulk/bulk.module.js';
import { GroupsController } from './groups.controller.js';
import { GroupsRepository } from './groups.repository.js';

@Module({
  imports: [AccessModule, BulkModule],
  controllers: [GroupsController],
  providers: [GroupsRepository],
})
export class GroupsModule {}
