import { describe, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ForbiddenAddressError,
  mayCall,
  postWebhook,
  signatureOf,
  WebhookFailedError,
} from './webhook.service.js';
import { isAlertRule, nextState, parseAlertRule, valueOf, type AlertRule } from './rules.js';

const rule = (text: string): AlertRule => {
  const parsed = parseAlertRule(text);
  if (!parsed) throw new Error(`${text} is no rule`);
  return parsed;
};

describe('alert rules', () => {
  it('fire above the raise level and resolve only at the resolve level', () => {
    const depth = rule('depth>100/50');
    const seen = [0, 100, 101, 80, 51, 50, 80, 200].reduce<string[]>(
      (states, value) => [...states, nextState(depth, (states.at(-1) as 'ok') ?? 'ok', value)],
      [],
    );
    expect(seen).toEqual(['ok', 'ok', 'firing', 'firing', 'firing', 'ok', 'ok', 'firing']);
  });

  it('look at one queue or at all: depths and rates add up, the oldest age counts', () => {
    const readings = new Map([
      ['a', { depth: 3, rate: 5, age: 10 }],
      ['b', { depth: 4, rate: 1, age: 90 }],
    ]);
    expect(
      ['depth>1/1', 'rate>1/1', 'age>1/1', 'depth@a>1/1', 'age@none>1/1'].map((text) =>
        valueOf(rule(text), readings),
      ),
    ).toEqual([7, 6, 90, 3, 0]);
  });

  it.each(['depth>5/9', 'depth>5', 'width>1/1', 'depth@>1/1', 'depth@a b>1/1', 'depth>-1/-2', ''])(
    'refuse %j',
    (text) => {
      expect(isAlertRule(text)).toBe(false);
    },
  );
});

describe('addresses that a webhook may call', () => {
  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '255.255.255.255',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::',
    'fd00:ec2::254',
    '::169.254.169.254',
    '::ffff:0:169.254.169.254',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '64:ff9b:1::a9fe:a9fe',
    'fec0::1',
    'fe80::1%eth0',
    '100.100.100.200',
    '0177.0.0.1.',
    'not an address',
    '',
  ])('never include %s', (address) => {
    expect([mayCall(address, { allowPrivate: false }), mayCall(address, { allowPrivate: true })]).toEqual([
      false,
      false,
    ]);
  });

  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd12::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '0:0:0:0:0:ffff:10.0.0.1',
    '::ffff:0:10.0.0.1',
  ])('include %s only when private ones are allowed', (address) => {
    expect([mayCall(address, { allowPrivate: false }), mayCall(address, { allowPrivate: true })]).toEqual([
      false,
      true,
    ]);
  });

  it.each(['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946', '172.32.0.1', '100.128.0.1'])(
    'include %s',
    (address) => {
      expect(mayCall(address, { allowPrivate: false })).toBe(true);
    },
  );
});

describe('posting a webhook', () => {
  const serve = async (
    listener: RequestListener,
  ): Promise<{ server: Server; url: string; stop: () => Promise<void> }> => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const stop = (): Promise<void> =>
      new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve())));
    return { server, url: `http://hook.example:${port}/alert`, stop };
  };
  const open = {
    allowPrivate: true,
    schemes: ['http:'],
    resolve: async () => ['127.0.0.1'],
    timeoutMs: 2_000,
  };

  it('sends a body that its receiver can verify by signature and time', async () => {
    const got: { body: string; signature: string; host: string }[] = [];
    const { url, stop } = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        got.push({
          body,
          signature: String(request.headers['x-millrace-signature']),
          host: String(request.headers.host),
        });
        response.end('fine');
      });
    });
    await postWebhook({ state: 'firing', value: 7 }, 'id-1', {
      ...open,
      url,
      secret: 'a secret of ours',
      now: () => 1_700_000_000_123,
    });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual({ state: 'firing', value: 7 });
    expect(got[0]?.signature).toBe(signatureOf('a secret of ours', 1_700_000_000, got[0]?.body ?? ''));
    expect(got[0]?.host).toContain('hook.example');
    await stop();
  });

  it('resolves the name once and goes to the checked address, also when the name changes its mind', async () => {
    let asked = 0;
    const { url, stop } = await serve((_, response) => response.end());
    await postWebhook({}, 'id', {
      ...open,
      url,
      resolve: async () => (asked++ === 0 ? ['127.0.0.1'] : ['169.254.169.254']),
    });
    expect(asked).toBe(1);
    await expect(
      postWebhook({}, 'id', { ...open, url, resolve: async () => ['127.0.0.1', '169.254.169.254'] }),
    ).rejects.toThrow(ForbiddenAddressError);
    await stop();
  });

  it.each([
    ['https only', 'http://hook.example/x', {}],
    ['no credentials', 'https://joe:pw@hook.example/x', {}],
    ['no private address', 'https://10.0.0.1/x', {}],
    ['no metadata service', 'https://169.254.169.254/latest', { allowPrivate: true }],
    ['no loopback in disguise', 'https://[::ffff:7f00:1]/x', {}],
    ['no decimal loopback', 'https://2130706433/x', {}],
    ['no file', 'file:///etc/passwd', {}],
  ])('refuses what is not allowed: %s', async (_, url, more) => {
    await expect(postWebhook({}, 'id', { url, allowPrivate: false, ...more })).rejects.toThrow(
      ForbiddenAddressError,
    );
  });

  it.each<[string, RequestListener]>([
    ['a refusal', (_, response) => void response.writeHead(500).end('no')],
    [
      'a redirect, which is not followed',
      (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
    ['a reply without end', (_, response) => void response.write('x')],
    ['a reply too long', (_, response) => void response.end('x'.repeat(200_000))],
    ['a hang', () => {}],
  ])('fails, in bounded time, on %s', async (_, listener) => {
    const { url, stop } = await serve(listener);
    await expect(postWebhook({}, 'id', { ...open, url, timeoutMs: 300 })).rejects.toThrow(WebhookFailedError);
    await stop();
  });
});
