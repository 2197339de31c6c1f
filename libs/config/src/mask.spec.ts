import { describe, expect, it } from '@jest/globals';
import { masked } from './mask.js';

describe('masked', () => {
  it('shows nothing of what is no text, not even of an object that cannot become one', () => {
    const hostile = JSON.parse('{"toString":1}') as unknown;
    expect(masked({ secret: 'url' }, ['redis://u:p@h', hostile])).toEqual(['redis://******@h', '******']);
  });
});
