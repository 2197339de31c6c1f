import type { Database } from '#database';
import { DEFAULT_ENCODING, tokenizerId, type EncodingName } from '#tokens';
import { budgetConfig } from '../cli.config.js';
import { count } from '../output/table.js';
import type { RunOptions } from './run-options.js';

/** What to say when batches made earlier have another budget, or were counted otherwise, than those to come. */
export async function changedBudget(options: RunOptions, database: Database): Promise<string[]> {
  const configured = await budgetConfig();
  const budget = Number(options.maxTokens ?? configured.MAX_BATCH_TOKENS);
  const encoding = (options.encoding ?? configured.ENCODING ?? DEFAULT_ENCODING) as EncodingName;
  const tokenizer = tokenizerId(encoding);
  const [last] = await database.rows<{ budget: number; tokenizer: string | null }>(
    `SELECT b.max_tokens AS budget, f.tokenizer FROM batches b JOIN batch_items i ON i.batch_id = b.id
     JOIN files f ON f.id = i.file_id ORDER BY b.created_at DESC LIMIT 1`,
  );
  const notes: string[] = [];
  if (last && last.budget !== budget)
    notes.push(
      `Batches hold ${count(budget)} tokens from now on; those made before hold ${count(last.budget)}.`,
    );
  // A count may name the form that it was made for behind the tokenizer's own id.
  if (last?.tokenizer && !`${last.tokenizer}+`.startsWith(`${tokenizer}+`))
    notes.push(
      `Tokens are counted with ${tokenizer} from now on; batches made before were counted with ${last.tokenizer}.`,
    );
  return notes;
}
