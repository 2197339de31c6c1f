import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyKeyEntity } from '#database';
import { AuditController } from './audit.controller.js';
import { KeptAnswers } from './kept-answers.repository.js';
import { Mutations } from './mutations.service.js';

/** Every change with its audit entry, in one transaction. */
@Module({
  imports: [TypeOrmModule.forFeature([IdempotencyKeyEntity])],
  controllers: [AuditController],
  providers: [KeptAnswers, Mutations],
  exports: [Mutations],
})
export class AuditModule {}
