// Composed processes first, then real services, then pure code; among each kind Jest's own order, the longest first. So the
// workers end together, on a fresh checkout too.
import Sequencer from '@jest/test-sequencer';

const KINDS = ['.e2e-spec.ts', '.int-spec.ts', '.spec.ts'];
const kind = ({ path }) => KINDS.findIndex((end) => path.endsWith(end));

export default class LongestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((a, b) => kind(a) - kind(b));
  }
}
