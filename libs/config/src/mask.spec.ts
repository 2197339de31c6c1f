import { describe, expect, it } from '@jest/globals';
import { masked } from './mask.js';

describe('masked', () => {
  it('shows nothing of what is no text, not even of an object that cannot become one', () => {
    const hostile = JSON.parse('{"toString":1}') as unknown;
    expect(masked({ secret: 'url' }, ['redis://u:p@h', hostile])).toEqual(['redis://******@h', '******']);
  });

  it('hides credentials and query of what is to be an address and is none, and of any other address', () => {
    expect(masked({ secret: 'url' }, 'host/db?password=x')).toBe('host/db?******');
    expect(masked({}, 'https://joe:pw@h/path?token=x')).toBe('https://******@h/path?******');
    expect(masked({}, 'what? nothing')).toBe('what? nothing');
  });
});
