import { queryRows, type Database } from '#database';
import { DEFAULT_ENCODING, tokenizerId, type EncodingName } from '#tokens';
import { budgetConfig } from '../cli.config.js';
import { count } from '../output/table.js';
import type { RunOptions } from './run-options.js';

/** What to say when batches made earlier have another budget, or were counted otherwise, than those to come. */
export async function changedBudget(options: RunOptions, database: Database): Promise<string[]> {
  const configured = await budgetConfig();
  const budget = Number(options.maxTokens ?? configured.MAX_BATCH_TOKENS);
  const tokenizer = tokenizerId(
    (options.encoding ?? configured.ENCODING ?? DEFAULT_ENCODING) as EncodingName,
  );
  const [last] = await database.read((manager) =>
    queryRows<{ budget: number; tokenizer: string | null }>(
      manager,
      `SELECT b.max_tokens AS budget, f.tokenizer FROM batches b JOIN batch_items i ON i.batch_id = b.id
       JOIN files f ON f.id = i.file_id ORDER BY b.created_at DESC LIMIT 1`,
    ),
  );
  if (!last) return [];
  return [
    ...(last.budget === budget
      ? []
      : [`Batches hold ${count(budget)} tokens from now on; those made before hold ${count(last.budget)}.`]),
    // A count may name the form that it was made for behind the tokenizer's own id.
    ...(last.tokenizer === null || `${last.tokenizer}+`.startsWith(`${tokenizer}+`)
      ? []
      : [
          `Tokens are counted with ${tokenizer} from now on; batches made before were counted with ${last.tokenizer}.`,
        ]),
  ];
}
