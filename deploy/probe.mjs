// Health check for images without a shell: `node deploy/probe.mjs <live|ready|startup>` asks this container's own probe.
const [kind = 'live'] = process.argv.slice(2);
const url = `http://127.0.0.1:${process.env.PORT ?? 8080}/health/${kind}`;
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_500) });
  process.exitCode = response.ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
