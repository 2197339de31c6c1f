import { Body, Inject, Param } from '@nestjs/common';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsIn, IsString, Length, Matches } from 'class-validator';
import { apiKeyRow, ENVIRONMENT_KEY, newApiKey } from '#database';
import { ROLES, type KeyView, type NewKey, type NewKeyRequest, type Page, type Role } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { Mutations } from '../audit/mutations.service.js';
import { between, NoteDto, Optional, Required, text } from '../http/field.js';
import { conflict, forbidden, notFound, type ProblemError } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Changes, Reads, Routes } from '../http/route.js';
import { actorOf, CurrentCaller, type Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';

const FROM_ENVIRONMENT = 'this key comes from ADMIN_KEY; change it there and restart';
const NO_ADMIN = 'nobody could administer: the first key must be of the role admin, for all queues';

const queueNames = [
  ...[IsArray(), ArrayMinSize(1), ArrayMaxSize(100)],
  ...[IsString({ each: true }), Length(1, 512, { each: true })],
];

class NewKeyDto implements NewKeyRequest {
  @Required({ maxLength: 100 }, ...text(1, 100)) name!: string;
  @Required({ enum: ROLES }, IsIn(ROLES)) role!: Role;
  @Optional({ type: [String], description: 'The only queues it may see. All unless given.' }, ...queueNames)
  queues?: string[];
  @Optional({ description: 'Days until it expires. Never unless given.' }, ...between(1, 3_650))
  expiresInDays?: number;
  @Optional({ description: 'Id of the key that it takes over from.' }, IsString(), Matches(/^[0-9a-f]{12}$/))
  replaces?: string;
  @Optional({ default: 24, description: 'Hours that the replaced key goes on working.' }, ...between(0, 720))
  overlapHours?: number;
}

@Routes('keys')
export class KeysController {
  constructor(
    private readonly keys: KeysRepository,
    private readonly mutations: Mutations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Reads('', 'admin', 'List keys. Their secrets are not stored.')
  async list(@CurrentCaller() caller: Caller): Promise<Page<KeyView>> {
    return { items: (await this.keys.list()).filter((key) => isWithin(caller, key)), next: null };
  }

  @Changes('', 'admin', 'Create a key, or a successor of one. Only the answer ever shows the key.', 201)
  async create(@Asked() asked: AskedBy, @Body() body: NewKeyDto): Promise<NewKey> {
    const { caller } = asked;
    const { id, key, hash } = newApiKey();
    const instead = { key: '(shown once, in the first answer)' };
    const made = { action: 'key.create', target: `key:${id}`, creates: true, request: body, instead };
    return this.mutations.perform({ ...asked, ...made }, async (tx) => {
      if (!isWithin(caller, { queues: body.queues ?? null })) throw beyond(caller);
      const replaced = body.replaces === undefined ? null : await this.keys.get(tx, body.replaces);
      if (replaced && !isWithin(caller, replaced)) throw notFound('key to replace');
      const view = apiKeyRow(body, { id, by: actorOf(caller), at: this.clock.now() });
      const added = await this.keys.add(tx, { ...view, keyHash: hash }, body.overlapHours);
      if (added === 'nothing to replace') throw notFound('key to replace');
      if (added === 'no admin') throw conflict('NO_ADMIN', NO_ADMIN);
      return { answer: { ...view, key }, after: view };
    });
  }

  @Changes(':id/revoke', 'admin', 'End a key and every session begun with it, at once.')
  revoke(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { note }: NoteDto): Promise<KeyView> {
    const mutation = { ...asked, note, action: 'key.revoke', target: `key:${id.slice(0, 64)}` };
    return this.mutations.perform(mutation, async (tx) => {
      const before = await this.keys.get(tx, id);
      if (!before || !isWithin(asked.caller, before)) throw notFound('key');
      if (id === ENVIRONMENT_KEY) throw conflict('ENVIRONMENT_KEY', FROM_ENVIRONMENT);
      await this.keys.revoke(tx, id, this.clock.now());
      const answer = { ...before, revokedAt: before.revokedAt ?? this.clock.now() };
      return { answer, before: { revokedAt: before.revokedAt }, after: { revokedAt: answer.revokedAt } };
    });
  }
}

/** Whether a key opens nothing that the caller may not see: nobody gives, or takes, more than they have. */
function isWithin({ queues }: Caller, key: { queues: readonly string[] | null }): boolean {
  return queues === null || (key.queues?.every((queue) => queues.includes(queue)) ?? false);
}

const beyond = ({ queues }: Caller): ProblemError =>
  forbidden('SCOPE', `your key is for ${queues?.join(', ')}; give a key for some of these queues`);
