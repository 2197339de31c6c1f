import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeadLetterEntity, DeadLetterHistoryEntity } from '#database';
import { AuditModule } from '../audit/audit.module.js';
import { LettersController } from './letters.controller.js';
import { LettersRepository } from './letters.repository.js';
import { Letters } from './letters.service.js';
import { RequeuedLettersRepository } from './requeued-letters.repository.js';
import { RequeuedLetters } from './requeued-letters.service.js';

@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([DeadLetterEntity, DeadLetterHistoryEntity])],
  controllers: [LettersController],
  providers: [Letters, LettersRepository, RequeuedLetters, RequeuedLettersRepository],
  exports: [Letters],
})
export class LettersModule {}
