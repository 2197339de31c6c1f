import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKeyEntity, SessionEntity } from '#database';
import { AuditModule } from '../audit/audit.module.js';
import { AccessGuard } from './access.guard.js';
import { Access } from './access.service.js';
import { IdentityTokens } from './identity-tokens.js';
import { KeysController } from './keys.controller.js';
import { KeysRepository } from './keys.repository.js';
import { RateLimits } from './rate-limits.service.js';
import { SharedSecrets } from './shared-secrets.repository.js';
import { SessionController } from './session.controller.js';

/** Who may do what, and how often. Its guard stands before every route of the app. */
@Module({
  imports: [AuditModule, TypeOrmModule.forFeature([ApiKeyEntity, SessionEntity])],
  controllers: [KeysController, SessionController],
  providers: [
    AccessGuard,
    { provide: APP_GUARD, useExisting: AccessGuard },
    Access,
    IdentityTokens,
    KeysRepository,
    RateLimits,
    SharedSecrets,
  ],
  exports: [AccessGuard, KeysRepository, RateLimits, SharedSecrets],
})
export class AccessModule {}
