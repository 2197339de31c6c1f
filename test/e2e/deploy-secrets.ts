import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileOf, yamlOf, yamlsOf, type Manifest } from './deploy-files.js';

/** Runs deploy/secrets.sh as its users do. */
export function makeSecrets(folder: string, env: Record<string, string> = {}): void {
  execFileSync('sh', [fileOf('deploy/secrets.sh'), folder], { env: { PATH: process.env.PATH, ...env } });
}

interface Generators {
  secretGenerator: { name: string; files: string[] }[];
}

/** The Secrets that the laptop's kustomization makes from a folder of secrets. */
export function laptopSecrets(folder: string): Manifest[] {
  const { secretGenerator } = yamlOf<Generators & Record<string, unknown>>(
    'deploy/kubernetes/overlays/laptop/kustomization.yaml',
  );
  return secretGenerator.map(({ name, files }) => {
    const texts = files.map((file) => [
      basename(file),
      readFileSync(join(folder, file.replace(/^secrets\//, '')), 'utf8'),
    ]);
    const stringData = Object.fromEntries(texts) as Record<string, string>;
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
  });
}

/** Production names its Secrets and does not hold them: the example beside it shows what they must hold. The laptop's are made. */
export function secretsOf(overlay: string): Manifest[] {
  if (overlay === 'production')
    return yamlsOf<Manifest>('deploy/kubernetes/overlays/production/secrets.example.yaml');
  const folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'));
  try {
    makeSecrets(folder);
    return laptopSecrets(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
