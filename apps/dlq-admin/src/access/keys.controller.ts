import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
} from 'class-validator';
import { apiKeyRow, ENVIRONMENT_KEY, newApiKey, type EntityManager } from '#database';
import { ROLES, type KeyView, type NewKey, type NewKeyRequest, type Page, type Role } from '#dlq-client';
import { CLOCK, type Clock } from '#service';
import { Mutations } from '../audit/mutations.service.js';
import { ConflictProblem, ForbiddenProblem, NotFoundProblem } from '../http/problems.js';
import { Asked, type AskedBy } from '../http/query.js';
import { Changes, Reads } from '../http/route.js';
import { NoteDto } from '../letters/letter.dto.js';
import { actorOf, CurrentCaller, type Caller } from './caller.js';
import { KeysRepository } from './keys.repository.js';

const NO_ADMIN = 'nobody could administer: the first key must be of the role admin, for all queues';

class NewKeyDto implements NewKeyRequest {
  @ApiProperty({ maxLength: 100 })
  @IsString()
  @Length(1, 100)
  name!: string;

  @ApiProperty({ enum: ROLES })
  @IsIn(ROLES)
  role!: Role;

  @ApiPropertyOptional({ type: [String], description: 'The only queues it may see. All unless given.' })
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @Length(1, 512, { each: true })
  queues?: string[];

  @ApiPropertyOptional({ description: 'Days until it expires. Never unless given.' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(3_650)
  expiresInDays?: number;

  @ApiPropertyOptional({ description: 'Id of the key that it takes over from.' })
  @IsOptional()
  @IsString()
  @Matches(/^[0-9a-f]{12}$/)
  replaces?: string;

  @ApiPropertyOptional({ default: 24, description: 'Hours that the replaced key goes on working.' })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(720)
  overlapHours?: number;
}

@ApiTags('keys')
@Controller('api/v1/keys')
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
    return this.mutations.perform<NewKey>({
      ...{ ...asked, action: 'key.create', target: `key:${id}`, creates: true, request: body },
      kept: (answer) => ({ ...answer, key: '(shown once, in the first answer)' }),
      run: async (tx) => {
        requireWithin(caller, { queues: body.queues ?? null });
        await this.replaceable(tx, caller, body.replaces);
        const view = apiKeyRow(body, { id, by: actorOf(caller), at: this.clock.now() });
        const added = await this.keys.add(tx, { ...view, keyHash: hash }, body.overlapHours);
        if (added === 'nothing to replace') throw new NotFoundProblem('key to replace');
        if (added === 'no admin') throw new ConflictProblem('NO_ADMIN', NO_ADMIN);
        return { answer: { ...view, key }, after: view };
      },
    });
  }

  @Changes(':id/revoke', 'admin', 'End a key and every session begun with it, at once.')
  revoke(@Asked() asked: AskedBy, @Param('id') id: string, @Body() { note }: NoteDto): Promise<KeyView> {
    return this.mutations.perform({
      ...{ ...asked, note, action: 'key.revoke', target: `key:${id.slice(0, 64)}` },
      run: async (tx) => {
        const before = await this.keys.get(tx, id);
        if (!before || !isWithin(asked.caller, before)) throw new NotFoundProblem('key');
        if (id === ENVIRONMENT_KEY)
          throw new ConflictProblem(
            'ENVIRONMENT_KEY',
            'this key comes from ADMIN_KEY; change it there and restart',
          );
        await this.keys.revoke(tx, id, this.clock.now());
        const revokedAt = before.revokedAt ?? this.clock.now();
        return {
          answer: { ...before, revokedAt },
          before: { revokedAt: before.revokedAt },
          after: { revokedAt },
        };
      },
    });
  }

  private async replaceable(tx: EntityManager, caller: Caller, id: string | undefined): Promise<void> {
    const replaced = id === undefined ? null : await this.keys.get(tx, id);
    if (replaced && !isWithin(caller, replaced)) throw new NotFoundProblem('key to replace');
  }
}

type Scope = Pick<Caller, 'queues'>;

/** Whether a key opens nothing that the caller may not see: nobody gives, or takes, more than they have. */
function isWithin({ queues }: Scope, key: { queues: readonly string[] | null }): boolean {
  return queues === null || (key.queues?.every((queue) => queues.includes(queue)) ?? false);
}

function requireWithin(caller: Scope, key: { queues: readonly string[] | null }): void {
  if (isWithin(caller, key)) return;
  throw new ForbiddenProblem(
    'SCOPE',
    `your key is for ${caller.queues?.join(', ')}; give a key for some of these queues`,
  );
}
