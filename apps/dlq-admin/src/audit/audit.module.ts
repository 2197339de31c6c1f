import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller.js';
import { Mutations } from './mutations.service.js';

/** Every change with its audit entry, in one transaction. */
@Module({ controllers: [AuditController], providers: [Mutations], exports: [Mutations] })
export class AuditModule {}
