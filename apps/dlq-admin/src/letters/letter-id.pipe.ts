import { Injectable, type PipeTransform } from '@nestjs/common';
import { ProblemError } from '../http/problems.js';

/** Digits that both databases take for a number. */
@Injectable()
export class LetterIdPipe implements PipeTransform<string, number> {
  transform(text: string): number {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new ProblemError(400, 'INVALID_REQUEST', 'this id is a number of at most 15 digits');
  }
}
