import { countTokens, type EncodingName, ENCODINGS, PieceCounter, TokenCounter } from '#tokens';
import { report } from './report.js';
import { benchTexts } from './tokens.texts.js';

// Token counting against gpt-tokenizer: the same texts, in the same process, in turn, one thread. Both start each cold
// run with empty caches. The best of the rounds counts, which on a busy machine is the least disturbed.

const AIM = 2;
const ROUNDS = 3;
const encoder = new TextEncoder();

interface Peer {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
  clearMergeCache(): void;
}

const PEERS: Record<EncodingName, () => Promise<Peer>> = {
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
};

const texts = benchTexts();
for (const encoding of ENCODINGS) {
  const peer = await compareLoading(encoding);
  for (const [name, text] of Object.entries(texts)) compare(encoding, peer, name, text);
}

/** What a thread pays before its first count. */
async function compareLoading(encoding: EncodingName): Promise<Peer> {
  const value = 1000 * seconds(() => countTokens('a', encoding));
  const start = performance.now();
  const peer = await PEERS[encoding]();
  peer.countTokens('a', { disallowedSpecial: new Set() });
  const theirs = performance.now() - start;
  report({ name: `tokens.${encoding}.load`, value, unit: 'ms', peer: theirs, ratio: theirs / value, aim: 1 });
  return peer;
}

function compare(encoding: EncodingName, peer: Peer, name: string, text: string): void {
  const best = { cold: Infinity, warm: Infinity, peerCold: Infinity, peerWarm: Infinity };
  const byPeer = () => peer.countTokens(text, { disallowedSpecial: new Set() });
  for (let round = 0; round < ROUNDS; round++) {
    const counter = new TokenCounter(encoding, new PieceCounter(encoding));
    const byUs = () => {
      counter.push(encoder.encode(text));
      return counter.end();
    };
    peer.clearMergeCache();
    best.cold = Math.min(best.cold, seconds(byUs));
    best.peerCold = Math.min(best.peerCold, seconds(byPeer));
    best.warm = Math.min(best.warm, seconds(byUs));
    best.peerWarm = Math.min(best.peerWarm, seconds(byPeer));
  }
  mustAgree(encoding, name, countTokens(text, encoding), byPeer());
  const megabytes = Buffer.byteLength(text) / 1e6;
  reportSpeed(`tokens.${encoding}.${name}.cold`, megabytes / best.cold, megabytes / best.peerCold);
  reportSpeed(`tokens.${encoding}.${name}.warm`, megabytes / best.warm, megabytes / best.peerWarm);
}

function seconds(run: () => number): number {
  const start = performance.now();
  run();
  return (performance.now() - start) / 1000;
}

function mustAgree(encoding: EncodingName, name: string, ours: number, theirs: number): void {
  if (ours !== theirs)
    throw new Error(`${encoding} on ${name}: ${ours} tokens, gpt-tokenizer says ${theirs}`);
}

function reportSpeed(name: string, value: number, peer: number): void {
  report({ name, value, unit: 'MB/s', peer, ratio: value / peer, aim: AIM });
}
