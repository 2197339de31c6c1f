import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_SCHEMA, load, loadAll, mergeTag } from 'js-yaml';
import { PROJECT_ROOT } from '#testing';
import { config as analyzer } from '../../apps/analyzer/src/analyzer.config.js';
import { config as batcher } from '../../apps/batcher/src/batcher.config.js';
import { config as dlqAdmin } from '../../apps/dlq-admin/src/dlq-admin.config.js';
import { config as publisher } from '../../apps/outbox-publisher/src/outbox-publisher.config.js';
import { config as producer } from '../../apps/producer/src/producer.config.js';
import { DatabaseConfig } from '#database';
import { keysOf, loadConfig, type ConfigGroups } from '#config';

/** What the deployment files say, read as their tools would read them. */
export type Fields = { [name: string]: unknown };

/** The configuration of whatever a container's arguments start. */
export const GROUPS: Readonly<Record<string, ConfigGroups>> = {
  producer,
  batcher,
  'outbox-publisher': publisher,
  analyzer,
  'dlq-admin': dlqAdmin,
  cli: { database: DatabaseConfig },
};

/** Names of the groups of settings that an app gets from its environment. Throws on what it refuses. */
export function settingsRead(app: string, env: Readonly<Record<string, string>>): string[] {
  return Object.keys(loadConfig(GROUPS[app] ?? {}, { env, cwd: '/nonexistent' }));
}

/** Read by Node and not by us. */
export const NODE_KEYS = ['NODE_OPTIONS', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'UV_THREADPOOL_SIZE'];

export function fileOf(path: string): string {
  return join(PROJECT_ROOT, path);
}

export function textOf(path: string): string {
  return readFileSync(fileOf(path), 'utf8');
}

export function yamlOf<T = Fields>(path: string): T {
  return load(textOf(path), { schema: CORE_SCHEMA.withTags(mergeTag) }) as T;
}

export function yamlsOf<T = Fields>(path: string): T[] {
  return loadAll(textOf(path)) as T[];
}

/** The manifests that a page shows whole. */
export function manifestsIn(page: string): Manifest[] {
  const blocks = [...textOf(page).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);
  return blocks
    .filter((text) => text.startsWith('apiVersion:'))
    .flatMap((text) => loadAll(text) as Manifest[]);
}

/** The app of `dist/apps/<app>/src/main.js`, whose source must be there. */
export function appOf(args: readonly string[] | undefined): string {
  const app = /^dist\/apps\/([a-z-]+)\/src\/main\.js$/.exec(args?.[0] ?? '')?.[1];
  if (!app) throw new Error(`${JSON.stringify(args)} starts none of our apps`);
  statSync(fileOf(`apps/${app}/src/main.ts`));
  return app;
}

/** The names that an app may be told: its keys, and `<KEY>_FILE` for secrets. */
export function keysOfApp(app: string): { all: string[]; secret: string[] } {
  const specs = Object.values(GROUPS[app] ?? {}).flatMap(keysOf);
  const secret = specs.flatMap((spec) => (spec.secret ? [spec.name] : []));
  return { all: [...specs.map(({ name }) => name), ...secret.map((name) => `${name}_FILE`)], secret };
}

const MEBIBYTES: Readonly<Record<string, number>> = { m: 1, g: 1024, Mi: 1, Gi: 1024 };

export function mebibytes(quantity: string): number {
  const [, digits = '', unit = ''] = /^(\d+)(\w+)$/.exec(quantity) ?? [];
  return Number(digits) * (MEBIBYTES[unit] ?? Number.NaN);
}

/** Megabytes that the heaps of a process may take: the main one and those of the batcher's threads. */
export function heapMegabytes(env: Readonly<Record<string, string>>): number {
  const main = Number(/--max-old-space-size=(\d+)/.exec(env.NODE_OPTIONS ?? '')?.[1]);
  return main + Number(env.BATCHER_THREADS ?? 0) * Number(env.THREAD_MEMORY_MB ?? 0);
}

export interface Manifest extends Fields {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: Fields;
}

interface Kustomization {
  namespace?: string;
  resources?: string[];
  components?: string[];
  images?: { name: string; newName?: string; newTag?: string }[];
  patches?: { path: string }[];
}

/** What `kubectl kustomize <folder>` prints, for the few features that these folders use. */
export function rendered(folder: string, inherited: Manifest[] = []): Manifest[] {
  const { namespace, resources = [], components = [], images = [], patches = [] } = kustomizationOf(folder);
  let all = [...inherited, ...resources.flatMap((path) => resourcesAt(join(folder, path)))];
  for (const path of components) all = rendered(join(folder, path), all);
  for (const { path } of patches)
    for (const patch of yamlsOf<Manifest>(join(folder, path))) all = patched(all, patch);
  for (const image of images) all = all.map((one) => withImage(one, image) as Manifest);
  return namespace ? all.map((one) => inNamespace(one, namespace)) : all;
}

function kustomizationOf(folder: string): Kustomization {
  const known = ['apiVersion', 'kind', 'namespace', 'resources', 'components', 'images', 'patches'];
  // Secrets are not rendered: what holds passwords is no matter for a snapshot (deploy-secrets.ts reads them).
  known.push('secretGenerator', 'generatorOptions');
  const found = yamlOf(join(folder, 'kustomization.yaml'));
  const unknown = Object.keys(found).filter((key) => !known.includes(key));
  if (unknown.length > 0) throw new Error(`${folder}: ${unknown.join(', ')} is not rendered here`);
  return found;
}

function resourcesAt(path: string): Manifest[] {
  return statSync(fileOf(path)).isDirectory() ? rendered(path) : yamlsOf<Manifest>(path);
}

function patched(all: readonly Manifest[], patch: Manifest): Manifest[] {
  const isTarget = ({ kind, metadata }: Manifest): boolean =>
    kind === patch.kind && metadata.name === patch.metadata.name;
  if (!all.some(isTarget)) throw new Error(`nothing to patch: ${patch.kind} ${patch.metadata.name}`);
  return all.map((one) => (isTarget(one) ? (merged(one, patch) as Manifest) : one));
}

/** A strategic merge: fields merge, null removes, lists of named things merge by name. */
function merged(from: unknown, patch: unknown): unknown {
  if (isNamedList(from) && isNamedList(patch)) return mergedLists(from, patch);
  if (!isFields(from) || !isFields(patch)) return patch;
  const fields = { ...from };
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete fields[key];
    else fields[key] = merged(from[key], value);
  return fields;
}

function mergedLists(from: readonly { name: string }[], patch: readonly { name: string }[]): unknown[] {
  const given = new Map(patch.map((one) => [one.name, one]));
  const kept = from.map((one) => (given.has(one.name) ? merged(one, given.get(one.name)) : one));
  const names = new Set(from.map(({ name }) => name));
  return [...patch.filter(({ name }) => !names.has(name)), ...kept];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNamedList(value: unknown): value is { name: string }[] {
  return Array.isArray(value) && value.every((one) => isFields(one) && typeof one.name === 'string');
}

function withImage(value: unknown, image: { name: string; newName?: string; newTag?: string }): unknown {
  if (Array.isArray(value)) return value.map((one) => withImage(one, image));
  if (!isFields(value)) return value;
  const fields = Object.entries(value).map(([key, inner]) =>
    key === 'image' && inner === image.name
      ? [key, `${image.newName ?? image.name}:${image.newTag ?? 'latest'}`]
      : [key, withImage(inner, image)],
  );
  return Object.fromEntries(fields) as Fields;
}

const CLUSTER_WIDE = ['Namespace', 'PersistentVolume'];

function inNamespace(one: Manifest, namespace: string): Manifest {
  return CLUSTER_WIDE.includes(one.kind) ? one : { ...one, metadata: { ...one.metadata, namespace } };
}
