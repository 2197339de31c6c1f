import type { Fields, Manifest } from './deploy-files.js';

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef: { name: string; key: string } };
}

export interface Container extends Fields {
  name: string;
  image: string;
  args?: string[];
  env?: EnvVar[];
  envFrom?: { configMapRef: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
  resources: { requests: { cpu: string; memory: string }; limits: { memory: string } };
  securityContext: Fields;
  lifecycle?: { preStop: { exec: { command: string[] } } };
}

export interface Volume extends Fields {
  name: string;
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  secret?: { secretName: string; items: { key: string; path: string }[] };
  emptyDir?: Fields;
}

export interface PodSpec extends Fields {
  serviceAccountName: string;
  automountServiceAccountToken: boolean;
  restartPolicy?: string;
  terminationGracePeriodSeconds: number;
  securityContext: Fields;
  containers: Container[];
  volumes: Volume[];
}

/** A pod as its owner would make it. */
export interface Pod {
  owner: Manifest;
  labels: Record<string, string>;
  spec: PodSpec;
}

interface Template {
  metadata: { labels: Record<string, string> };
  spec: PodSpec;
}

export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap((owner) => {
    const template = templateOf(owner);
    return template ? [{ owner, labels: template.metadata.labels, spec: template.spec }] : [];
  });
}

function templateOf({ kind, spec }: Manifest): Template | undefined {
  if (kind === 'CronJob') return (spec?.jobTemplate as { spec: { template: Template } }).spec.template;
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? (spec?.template as Template) : undefined;
}

export function isOurs({ spec }: Pod): boolean {
  return /(^|\/)millrace(:|$)/.test(spec.containers[0]?.image ?? '');
}

export interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
}

export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, { labels }: Pod): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))
  );
}

export function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (!found) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

/** The container's environment with its references resolved; one that leads nowhere is an error. */
export function environmentOf(
  container: Container,
  manifests: readonly Manifest[],
  secrets: readonly Manifest[],
): Record<string, string> {
  const shared = (container.envFrom ?? []).map(
    ({ configMapRef }) => named(manifests, 'ConfigMap', configMapRef.name).data as Record<string, string>,
  );
  const own = (container.env ?? []).map(({ name, value, valueFrom }) => [
    name,
    valueFrom ? secretValue(secrets, valueFrom.secretKeyRef) : value,
  ]);
  return Object.assign({}, ...shared, Object.fromEntries(own)) as Record<string, string>;
}

export function secretValue(secrets: readonly Manifest[], ref: { name: string; key: string }): string {
  const value = (named(secrets, 'Secret', ref.name).stringData as Record<string, string>)[ref.key];
  if (value === undefined) throw new Error(`Secret ${ref.name} has no ${ref.key}`);
  return value;
}
