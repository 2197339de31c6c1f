import { Body, Head, Headers, Patch, Res } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import type { LetterDetail, LetterSummary, Page } from '#dlq-client';
import { CurrentCaller, type Caller } from '../access/caller.js';
import { decodeCursor, NoteDto } from '../http/field.js';
import { ProblemError } from '../http/problems.js';
import { Asked, LetterQueryParam, type AskedBy } from '../http/query.js';
import { Changes, NumericId, Reads, Routes } from '../http/route.js';
import { criteriaOf } from './criteria.js';
import { LetterFilterDto, LetterListQuery, PayloadEditDto } from './letter.dto.js';
import { LettersRepository } from './letters.repository.js';
import { LettersService } from './letters.service.js';

@Routes('dead letters')
export class LettersController {
  constructor(
    private readonly repository: LettersRepository,
    private readonly letters: LettersService,
  ) {}

  // Before GET, which would answer HEAD as well.
  @Reads('', 'viewer', 'Count letters: X-Total-Count, exact when X-Total-Count-Exact is true.', Head)
  async count(
    @CurrentCaller() caller: Caller,
    @LetterQueryParam(LetterFilterDto) filter: LetterFilterDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    const { count, exact } = await this.repository.count(criteriaOf(caller, filter));
    response.set({ 'X-Total-Count': String(count), 'X-Total-Count-Exact': String(exact) });
  }

  @Reads('', 'viewer', 'List letters, newest first. `payload.<path>=<value>` may be added.')
  list(
    @CurrentCaller() caller: Caller,
    @LetterQueryParam(LetterListQuery) { cursor, limit, ...filter }: LetterListQuery,
  ): Promise<Page<LetterSummary>> {
    return this.repository.list(criteriaOf(caller, filter), decodeCursor(cursor, 'number'), limit);
  }

  @Reads(':id', 'viewer', 'Show one letter. Payload and stack are for operators.')
  async show(
    @CurrentCaller() caller: Caller,
    @NumericId() id: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<LetterDetail> {
    const letter = await this.letters.show(caller, id);
    response.set('ETag', `"${letter.version}"`);
    return letter;
  }

  @Reads(':id/payload', 'operator', 'Download the payload as text.')
  async download(
    @CurrentCaller() caller: Caller,
    @NumericId() id: number,
    @Res() response: Response,
  ): Promise<void> {
    const { payload } = await this.letters.show(caller, id);
    response
      .set({
        'Content-Type': 'text/plain; charset=utf-8',
        'Content-Disposition': `attachment; filename="dead-letter-${id}.json"`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
      })
      .send(JSON.stringify(payload, null, 2));
  }

  @ApiHeader({ name: 'If-Match', required: true, description: 'The version that was read, in quotes.' })
  @Changes(':id/payload', 'operator', 'Replace the payload; the one before stays in the history.', 200, Patch)
  edit(
    @Asked() asked: AskedBy,
    @NumericId() id: number,
    @Body() { payload, note }: PayloadEditDto,
    @Headers('If-Match') ifMatch?: string,
  ): Promise<LetterDetail> {
    return this.letters.editPayload(id, { ...asked, note }, versionOf(ifMatch), payload);
  }

  @Changes(':id/requeue', 'operator', 'Put the job back into its queue, with all its attempts.')
  requeue(@Asked() asked: AskedBy, @NumericId() id: number, @Body() why: NoteDto): Promise<LetterSummary> {
    return this.letters.change('requeue', id, { ...asked, ...why });
  }

  @Changes(':id/discard', 'operator', 'Give the letter up. It can be restored.')
  discard(@Asked() asked: AskedBy, @NumericId() id: number, @Body() why: NoteDto): Promise<LetterSummary> {
    return this.letters.change('discard', id, { ...asked, ...why });
  }

  @Changes(':id/restore', 'operator', 'Open a discarded letter again.')
  restore(@Asked() asked: AskedBy, @NumericId() id: number, @Body() why: NoteDto): Promise<LetterSummary> {
    return this.letters.change('restore', id, { ...asked, ...why });
  }
}

function versionOf(ifMatch: string | undefined): number {
  const match = /^"(\d{1,15})"$/.exec(ifMatch ?? '');
  if (match) return Number(match[1]);
  throw new ProblemError(428, 'VERSION_REQUIRED', 'send If-Match with the version that you read, in quotes');
}
