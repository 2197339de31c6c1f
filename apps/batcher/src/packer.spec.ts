import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Packer, PACKINGS, type Bin, type Item, type Packing, type PackLimits } from './packer.js';

type Limits = Omit<PackLimits, 'openBins'>;

function createPacker(packing: Packing, limits: Limits, openBins = 8): Packer<number> {
  return new Packer({ ...limits, openBins: packing === 'sequential' ? 1 : openBins });
}

const items = (tokens: readonly number[]): Item<number>[] =>
  tokens.map((cost, index) => ({ tokens: cost, value: index, at: index }));

function packAll(packer: Packer<number>, tokens: readonly number[]): Bin<number>[] {
  return [...items(tokens).flatMap((item) => packer.add(item)), ...packer.flush()];
}

const valuesOf = (bins: readonly Bin<number>[]): number[] =>
  bins.flatMap((bin) => bin.items.map(({ value }) => value));

// What is done to a packer besides adding: the flush conditions of the batcher.
type Step = { add: number } | 'fullest' | { since: number } | 'flush';
const steps = (maxTokens: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 0, max: maxTokens }).map((add) => ({ add })) },
      { weight: 1, arbitrary: fc.constant('fullest' as const) },
      { weight: 1, arbitrary: fc.nat(200).map((since) => ({ since })) },
      { weight: 1, arbitrary: fc.constant('flush' as const) },
    ),
    { maxLength: 200 },
  );

function play(packer: Packer<number>, played: readonly Step[]): { bins: Bin<number>[]; added: number } {
  let added = 0;
  const bins = played.flatMap((step) => {
    if (step === 'fullest') return [packer.closeFullest()].filter((bin) => bin !== undefined);
    if (step === 'flush') return packer.flush();
    if ('since' in step) return packer.closeSince(step.since);
    return packer.add({ tokens: step.add, value: added, at: added++ });
  });
  return { bins: [...bins, ...packer.flush()], added };
}

describe.each(PACKINGS)('%s packing', (packing) => {
  it('puts every item in exactly one bin, no bin over a limit, no bin empty, whatever is closed when', () => {
    const limits = fc.record({
      maxTokens: fc.integer({ min: 1, max: 500 }),
      maxItems: fc.integer({ min: 1, max: 20 }),
    });
    const cases = limits.chain((limit) =>
      fc.tuple(fc.constant(limit), steps(limit.maxTokens), fc.integer({ min: 1, max: 9 })),
    );
    fc.assert(
      fc.property(cases, ([limit, played, openBins]) => {
        const packer = createPacker(packing, limit, openBins);
        const { bins, added } = play(packer, played);
        expect(valuesOf(bins).sort((a, b) => a - b)).toEqual(
          Array.from({ length: added }, (_, index) => index),
        );
        for (const bin of bins) {
          expect(bin.items.length).toBeGreaterThan(0);
          expect(bin.items.length).toBeLessThanOrEqual(limit.maxItems);
          expect(bin.tokens).toBe(bin.items.reduce((sum, { tokens }) => sum + tokens, 0));
          expect(bin.tokens).toBeLessThanOrEqual(limit.maxTokens);
          expect(bin.since).toBe(Math.min(...bin.items.map(({ at }) => at)));
        }
        expect(packer.open).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('begins with no batch', () => {
    const packer = createPacker(packing, { maxTokens: 10, maxItems: 10 });
    expect(packer.open).toEqual([]);
    expect(packer.flush()).toEqual([]);
    expect(packer.closeFullest()).toBeUndefined();
    expect(packer.closeSince(Infinity)).toEqual([]);
  });

  it('adds to the open batch what fits it', () => {
    const packer = createPacker(packing, { maxTokens: 100, maxItems: 10 });
    expect(items([30, 40]).flatMap((item) => packer.add(item))).toEqual([]);
    expect(packer.open.map(({ tokens }) => tokens)).toEqual([70]);
  });

  it('hands out the last, partly filled batch when flushed, once', () => {
    const packer = createPacker(packing, { maxTokens: 100, maxItems: 10 });
    items([30, 40]).forEach((item) => packer.add(item));
    expect(packer.flush().map(valueList)).toEqual([[0, 1]]);
    expect(packer.flush()).toEqual([]);
  });

  it('closes only the bins that are old enough', () => {
    const packer = createPacker(packing, { maxTokens: 100, maxItems: 10 });
    items([60]).forEach((item) => packer.add(item));
    expect(packer.closeSince(-1)).toEqual([]);
    expect(packer.closeSince(0).map(valueList)).toEqual([[0]]);
  });

  it('refuses an item that fits no bin', () => {
    const packer = createPacker(packing, { maxTokens: 100, maxItems: 10 });
    expect(() => packer.add({ tokens: 101, value: 0, at: 0 })).toThrow(RangeError);
  });
});

const valueList = (bin: Bin<number>): number[] => bin.items.map(({ value }) => value).sort((a, b) => a - b);

describe('sequential packing', () => {
  it('closes the batch with the file that would exceed it, and starts the next with that file', () => {
    const packer = createPacker('sequential', { maxTokens: 100, maxItems: 10 });
    const closed = items([60, 40, 1]).map((item) => packer.add(item).map(valueList));
    expect(closed).toEqual([[], [], [[0, 1]]]);
    expect(packer.open.map(valueList)).toEqual([[2]]);
  });

  it('keeps the order of the files', () => {
    const packer = createPacker('sequential', { maxTokens: 100, maxItems: 10 });
    expect(valuesOf(packAll(packer, [90, 20, 90, 5, 5]))).toEqual([0, 1, 2, 3, 4]);
  });

  it('closes the batch when it has its most files', () => {
    const packer = createPacker('sequential', { maxTokens: 100, maxItems: 2 });
    expect(packAll(packer, [1, 1, 1]).map(valueList)).toEqual([[0, 1], [2]]);
  });
});

/** Reproducible numbers in 0..1 (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const gauss = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(random() || Number.EPSILON)) * Math.cos(2 * Math.PI * random());

const BUDGET = 100_000;
const MIXES: Record<string, (random: () => number) => number> = {
  'source code (log-normal, median 700 tokens)': (random) =>
    Math.min(BUDGET, Math.ceil(700 * Math.exp(1.3 * gauss(random)))),
  'documents (log-normal, median 8,000 tokens)': (random) =>
    Math.min(BUDGET, Math.ceil(8_000 * Math.exp(gauss(random)))),
  'tiny files': (random) => 60 + Math.floor(random() * 200),
  'small files and some that fill half a batch': (random) =>
    random() < 0.02 ? 30_000 + Math.floor(random() * 30_000) : 100 + Math.floor(random() * 2_000),
};

describe('best-fit packing', () => {
  it.each(Object.entries(MIXES))('needs at most 1/0.95 of the fewest bins possible: %s', (_, draw) => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = randoms(seed);
      const tokens = Array.from({ length: 20_000 }, () => draw(random));
      const packer = new Packer<number>({ maxTokens: BUDGET, maxItems: 5_000, openBins: 8 });
      const bins = packAll(packer, tokens).length;
      const total = tokens.reduce((sum, cost) => sum + cost, 0);
      const fewest = Math.max(Math.ceil(total / BUDGET), tokens.filter((cost) => cost > BUDGET / 2).length);
      expect(fewest / bins).toBeGreaterThanOrEqual(0.95);
    }
  });

  it('needs fewer bins than sequential packing', () => {
    const random = randoms(7);
    const tokens = Array.from({ length: 5_000 }, () =>
      MIXES['documents (log-normal, median 8,000 tokens)']!(random),
    );
    const limits = { maxTokens: BUDGET, maxItems: 5_000 };
    const bestFit = packAll(new Packer<number>({ ...limits, openBins: 8 }), tokens).length;
    expect(bestFit).toBeLessThan(packAll(createPacker('sequential', limits), tokens).length);
  });

  it('never has more bins open than it may', () => {
    const packer = new Packer<number>({ maxTokens: 100, maxItems: 10, openBins: 3 });
    for (const item of items([60, 61, 62, 63, 64, 65])) {
      packer.add(item);
      expect(packer.open.length).toBeLessThanOrEqual(3);
    }
  });

  it('fills a bin that is due with what waits in the others before it closes it', () => {
    const packer = new Packer<number>({ maxTokens: 100, maxItems: 10, openBins: 8 });
    // Bins of 60, 70 and 65; what arrived first is due.
    for (const item of items([60, 70, 65, 25, 30])) packer.add(item);
    const [closed, ...more] = packer.closeSince(0);
    expect(more).toEqual([]);
    expect(closed?.tokens).toBe(90);
    expect(valueList(closed!)).toContain(0);
    expect(packer.open.map(({ tokens }) => tokens).reduce((sum, tokens) => sum + tokens, 0)).toBe(160);
  });

  it('packs what is open anew when flushed, in fewer bins when that is possible', () => {
    const packer = new Packer<number>({ maxTokens: 100, maxItems: 10, openBins: 8 });
    // Two bins of 60 and 55; then what would have fitted them is spread by arrival.
    const closed = packAll(packer, [60, 55, 45, 40]);
    expect(closed.map(({ tokens }) => tokens).sort((a, b) => a - b)).toEqual([100, 100]);
  });

  const open = (openBins = 8, maxItems = 10): Packer<number> =>
    new Packer<number>({ maxTokens: 100, maxItems, openBins });
  const addAll = (packer: Packer<number>, tokens: readonly number[]): number[][][] =>
    items(tokens).map((item) => packer.add(item).map(valueList));

  it('closes a bin that is 99 % full, or has its most items, and no other', () => {
    const packer = open();
    expect(addAll(packer, [98, 1])).toEqual([[], [[0, 1]]]);
    expect(addAll(packer, [99])).toEqual([[[0]]]);
    expect(packer.open).toEqual([]);
    expect(addAll(open(8, 2), [10, 10, 10])).toEqual([[], [[0, 1]], []]);
    expect(addAll(open(8, 1), [10, 10])).toEqual([[[0]], [[1]]]);
  });

  it('puts an item where it leaves the least room, into the first of equals', () => {
    const packer = open();
    addAll(packer, [60, 70, 20]);
    expect(packer.open.map(valueList)).toEqual([[0], [1, 2]]);
    const equal = open();
    addAll(equal, [60, 60, 10]);
    expect(equal.open.map(valueList)).toEqual([[0, 2], [1]]);
  });

  it('closes the fullest, the first of equals, when it may open no other', () => {
    const packer = open(3);
    expect(addAll(packer, [60, 70, 70, 65])).toEqual([[], [], [], [[1]]]);
    expect(packer.open.map(valueList)).toEqual([[0], [2], [3]]);
    expect(addAll(open(2), [50, 60, 99])).toEqual([[], [], [[1], [2]]]);
    expect(addAll(open(2), [60, 70])).toEqual([[], []]);
  });

  it('closes with what is due only what came by then, or fits beside it', () => {
    const packer = open();
    addAll(packer, [60, 70, 80]);
    expect(packer.closeSince(1).map(valueList)).toEqual([[1], [0]]);
    expect(packer.open.map(valueList)).toEqual([[2]]);
    const small = open();
    addAll(small, [60, 70, 25]);
    // 25 came later and was put beside 70; it goes with what is due all the same.
    expect(small.closeSince(0).map(valueList)).toEqual([[0, 2]]);
    expect(small.open.map(valueList)).toEqual([[1]]);
  });

  it('keeps bins that came later, as many as may be open', () => {
    const packer = open(3);
    addAll(packer, [60, 70, 80]);
    expect(packer.closeSince(0).map(valueList)).toEqual([[0]]);
    expect(packer.open.map(valueList)).toEqual([[2], [1]]);
  });

  it('leaves bins as they are when packing anew saves none, and else packs the largest first', () => {
    const packer = open();
    addAll(packer, [60, 70]);
    expect(packer.flush().map(valueList)).toEqual([[0], [1]]);
    // As they come they need three bins; 60 with 40 and 55 with 45 are two.
    addAll(packer, [40, 45, 60, 55]);
    expect(packer.open).toHaveLength(3);
    expect(packer.flush().map(valueList)).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });
});
