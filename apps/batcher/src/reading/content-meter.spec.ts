import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ContentMeter } from './content-meter.js';

function measure(chunks: readonly Buffer[], tellLast: boolean): ContentMeter {
  const meter = new ContentMeter();
  chunks.forEach((chunk, index) => meter.add(chunk, tellLast && index === chunks.length - 1));
  return meter;
}

describe('ContentMeter', () => {
  it('finds hash, length and `]]>` whatever the chunks', () => {
    const text = fc
      .array(fc.constantFrom(']', '>', 'x', ']]>'), { maxLength: 40 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 5 })), fc.boolean(), (content, cuts, tellLast) => {
        const whole = Buffer.from(content);
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) {
          if (at < whole.length) chunks.push(whole.subarray(at, at + cut));
          at += cut;
        }
        if (at < whole.length) chunks.push(whole.subarray(at));
        const meter = measure(chunks, tellLast);
        expect(meter.bytes).toBe(whole.length);
        expect(meter.cdataEnds).toBe(content.split(']]>').length - 1);
        expect(meter.digest()).toBe(createHash('sha256').update(whole).digest('hex'));
        expect(meter.digest()).toBe(meter.digest());
      }),
      { numRuns: 500 },
    );
  });
});
