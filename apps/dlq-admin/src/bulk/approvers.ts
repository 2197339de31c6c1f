import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/caller.js';
import { KeysRepository } from '../access/keys.repository.js';
import { ForbiddenProblem } from '../http/problems.js';
import type { BulkRow } from './bulk-actions.repository.js';

/**
 * Who may be the second person of a bulk action: neither the key that asked for it, nor one that replaces it or was replaced
 * by it, nor one that was made since, which whoever asked may have made for this.
 */
@Injectable()
export class Approvers {
  constructor(private readonly keys: KeysRepository) {}

  async requireSecond({ keyId }: Caller, { createdKey, createdAt }: BulkRow): Promise<void> {
    const [own, asking] = [await this.keys.find(keyId), await this.keys.find(createdKey ?? '')];
    if (keyId === createdKey || own?.replaces === createdKey || asking?.replaces === keyId)
      throw new ForbiddenProblem('SAME_KEY', 'whoever asked for it cannot approve it; another key must');
    if (own && own.createdAt > createdAt)
      throw new ForbiddenProblem(
        'NEW_KEY',
        'a key that was made after the action was asked for cannot approve it',
      );
  }
}
