import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { LettersController } from './letters.controller.js';
import { LettersRepository } from './letters.repository.js';
import { Letters } from './letters.service.js';

@Module({
  imports: [AuditModule],
  controllers: [LettersController],
  providers: [Letters, LettersRepository],
  exports: [Letters],
})
export class LettersModule {}
