import { DeadLetterEntity, DeadLetterHistoryEntity, type Database } from '#database';
import { LettersRepository } from './letters.repository.js';

/** As the container would make it. */
export function lettersRepository(database: Database): LettersRepository {
  return new LettersRepository(
    database,
    database.repository(DeadLetterEntity),
    database.repository(DeadLetterHistoryEntity),
  );
}
