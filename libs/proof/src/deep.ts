import type { Database } from '#database';
import { outputChecks, outputFolder } from './output.js';
import { TreeComparison } from './tree.js';
import { verdictOf, type Proof } from './verify.js';

interface DeepOptions {
  /** Our own folders and files, which no scan enters: data and database. The output is known. */
  ownPaths: readonly string[];
  /** Rows shown of each finding; the counts are always whole. */
  rows?: number;
}

/** The same proof, held against the tree and the destination as they are now. */
export async function deepen(
  database: Database,
  proof: Proof,
  { ownPaths, rows = 20 }: DeepOptions,
): Promise<Proof> {
  const output = await outputFolder(database);
  const tree = await new TreeComparison(database, [...ownPaths, ...(output ? [output] : [])], rows).run();
  const written = output ? await outputChecks(database, output, rows) : [];
  const checks = [...proof.checks, ...tree.checks, ...written];
  const exceptions = [...proof.exceptions, ...tree.exceptions];
  return { ...proof, checks, exceptions, verdict: verdictOf(checks, proof.inFlight, exceptions) };
}
