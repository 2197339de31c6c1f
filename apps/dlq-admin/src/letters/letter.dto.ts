import { Transform } from 'class-transformer';
import { IsIn, IsUUID, ValidateBy } from 'class-validator';
import { LETTER_STATUSES, REASONS, type LetterFilter, type LetterStatus, type Reason } from '#dlq-client';
import { between, NoteDto, Optional, Required, text, ToInteger } from '../http/field.js';
import { PageCursor, PageLimit } from '../http/field.js';

const Short = (description: string): PropertyDecorator => Optional({ description }, ...text(1, 512));
const Time = (description: string): PropertyDecorator =>
  Optional({ description }, ToInteger(), ...between(0, Number.MAX_SAFE_INTEGER));

/** Which letters; `payload.<path>=<value>` may be given besides. */
export class LetterFilterDto implements Omit<LetterFilter, 'payload'> {
  @Short('Origin queue.') queue?: string;
  @Short('Job name.') name?: string;
  @Short('Name of the error, such as TypeError.') error?: string;
  @Short('Id of the group.') group?: string;
  @Short('Id of the worker that failed last.') worker?: string;
  @Optional({ description: 'Id of a bulk action: the letters that it has selected.' }, IsUUID())
  action?: string;
  @Optional({ enum: REASONS }, IsIn(REASONS)) reason?: Reason;
  @Optional({ enum: LETTER_STATUSES }, IsIn(LETTER_STATUSES)) status?: LetterStatus;
  @Time('Dead-lettered at or after, UTC milliseconds.') from?: number;
  @Time('Dead-lettered before, UTC milliseconds.') until?: number;
  @Optional(
    { description: 'Literal text in payload or error; operators only.', minLength: 3 },
    ...text(3, 200),
  )
  text?: string;
}

// None of Nest's mapped types: in a bundle they do not find what class-transformer knows of the classes.
export class LetterListQuery extends LetterFilterDto {
  @PageCursor cursor?: string;
  @PageLimit limit = 50;
}

const IsPlainObject = (): PropertyDecorator =>
  ValidateBy({
    name: 'isPlainObject',
    validator: {
      validate: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
      defaultMessage: () => '$property must be a JSON object',
    },
  });

/** As it was sent, whatever class-transformer would make of it. */
export const AsSent = (): PropertyDecorator =>
  Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]);

export class PayloadEditDto extends NoteDto {
  @Required({ type: Object, description: 'The whole new payload, a JSON object.' }, AsSent(), IsPlainObject())
  payload!: Record<string, unknown>;
}
