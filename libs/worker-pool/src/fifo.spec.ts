import { describe, expect, it } from '@jest/globals';
import { Fifo } from './fifo.js';

describe('Fifo', () => {
  it('gives values back in the order they came, also when pushes and shifts alternate', () => {
    const fifo = new Fifo<number>();
    fifo.push(1);
    fifo.push(2);
    expect(fifo.shift()).toBe(1);
    fifo.push(3);
    expect([fifo.shift(), fifo.shift(), fifo.shift()]).toEqual([2, 3, undefined]);
    fifo.push(4);
    expect(fifo.shift()).toBe(4);
  });

  it('knows its size and is empty after a drain', () => {
    const fifo = new Fifo<string>();
    ['a', 'b', 'c'].forEach((value) => fifo.push(value));
    expect(fifo.size).toBe(3);
    expect(fifo.drain()).toEqual(['a', 'b', 'c']);
    expect([fifo.size, fifo.shift()]).toEqual([0, undefined]);
  });
});
