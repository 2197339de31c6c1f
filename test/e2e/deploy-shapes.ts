import type { Fields, Manifest } from './deploy-files.js';

/** The fields of an object that a manifest may have; a field with a shape of its own is checked further. */
type Shape = { [field: string]: Shape | 'any' };

const any = (...names: string[]): Shape => Object.fromEntries(names.map((name) => [name, 'any']));
const selector = any('matchLabels', 'matchExpressions');

/** Whose kinds Kubernetes does not know by itself. */
export const OPERATORS = /^(keda\.sh|monitoring\.coreos\.com)\//;

/** Every kind of operators that the manifests use, with its version. A new field is added here on purpose, or is a typo. */
const KINDS: Readonly<Record<string, Shape>> = {
  'keda.sh/v1alpha1/ScaledObject': {
    spec: {
      ...any('minReplicaCount', 'maxReplicaCount', 'pollingInterval', 'advanced'),
      scaleTargetRef: any('name'),
      triggers: {
        ...any('type', 'name', 'metricType'),
        metadata: any('serverAddress', 'query', 'threshold'),
      },
    },
  },
  'monitoring.coreos.com/v1/PodMonitor': {
    spec: {
      selector,
      podTargetLabels: 'any',
      podMetricsEndpoints: any('port', 'path', 'interval', 'authorization'),
    },
  },
};

/** What a manifest has that its kind does not, as `Kind name: path`. */
export function unknownFields(manifest: Manifest): string[] {
  const label = `${manifest.kind} ${manifest.metadata.name}`;
  const shape = KINDS[`${manifest.apiVersion}/${manifest.kind}`];
  if (!shape) return [`${label}: unknown as ${manifest.apiVersion}`];
  const common: Shape = { ...any('apiVersion', 'kind'), metadata: any('name', 'namespace', 'labels') };
  return surplus({ ...common, ...shape }, manifest, '').map((path) => `${label}: ${path}`);
}

function surplus(shape: Shape, value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => surplus(shape, one, path));
  if (typeof value !== 'object' || value === null) return [`${path} must be an object`];
  return Object.entries(value as Fields).flatMap(([field, inner]) => {
    const known = shape[field];
    if (known === undefined) return [`${path}.${field}`];
    return known === 'any' ? [] : surplus(known, inner, `${path}.${field}`);
  });
}
