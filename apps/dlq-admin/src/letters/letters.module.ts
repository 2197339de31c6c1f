import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { LetterChanges } from './letter-changes.repository.js';
import { LettersController } from './letters.controller.js';
import { LettersRepository } from './letters.repository.js';
import { Letters } from './letters.service.js';
import { RequeuedLettersRepository } from './requeued-letters.repository.js';
import { RequeuedLetters } from './requeued-letters.service.js';

@Module({
  imports: [AuditModule],
  controllers: [LettersController],
  providers: [LetterChanges, Letters, LettersRepository, RequeuedLetters, RequeuedLettersRepository],
  exports: [LetterChanges],
})
export class LettersModule {}
