import type { Fields, Manifest } from './deploy-files.js';

/** The fields of an object that a manifest may have; a field with a shape of its own is checked further. */
type Shape = { [field: string]: Shape | 'any' };

const any = (...names: string[]): Shape => Object.fromEntries(names.map((name) => [name, 'any']));
const probe = any(
  'httpGet',
  'exec',
  'periodSeconds',
  'timeoutSeconds',
  'failureThreshold',
  'initialDelaySeconds',
);
const selector = any('matchLabels', 'matchExpressions');
const container: Shape = {
  ...any('name', 'image', 'imagePullPolicy', 'args', 'command', 'ports', 'volumeMounts', 'workingDir'),
  env: { ...any('name', 'value'), valueFrom: { secretKeyRef: any('name', 'key') } },
  envFrom: { configMapRef: any('name'), secretRef: any('name') },
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: { preStop: { exec: any('command') } },
  resources: { requests: any('cpu', 'memory'), limits: any('cpu', 'memory') },
  securityContext: any('allowPrivilegeEscalation', 'readOnlyRootFilesystem', 'capabilities'),
};
const podSpec: Shape = {
  ...any('serviceAccountName', 'automountServiceAccountToken', 'enableServiceLinks', 'restartPolicy'),
  ...any('terminationGracePeriodSeconds'),
  securityContext: {
    ...any('runAsNonRoot', 'runAsUser', 'runAsGroup', 'fsGroup', 'fsGroupChangePolicy'),
    seccompProfile: any('type'),
  },
  topologySpreadConstraints: {
    ...any('maxSkew', 'topologyKey', 'whenUnsatisfiable'),
    labelSelector: selector,
  },
  containers: container,
  initContainers: container,
  volumes: {
    ...any('name'),
    emptyDir: any('sizeLimit', 'medium'),
    persistentVolumeClaim: any('claimName', 'readOnly'),
    secret: { ...any('secretName', 'defaultMode'), items: any('key', 'path', 'mode') },
  },
};
const template: Shape = { metadata: any('labels', 'annotations'), spec: podSpec };
const jobSpec: Shape = {
  ...any('backoffLimit', 'ttlSecondsAfterFinished', 'activeDeadlineSeconds'),
  podFailurePolicy: { rules: any('action', 'onExitCodes', 'onPodConditions') },
  template,
};
const claimSpec = any('accessModes', 'storageClassName', 'volumeName', 'resources');
const peer = any('podSelector', 'namespaceSelector', 'ipBlock');
const port = any('protocol', 'port');

/** Every kind that the manifests use, with its version. A new kind or field is added here on purpose, or is a typo. */
const KINDS: Readonly<Record<string, Shape>> = {
  'v1/Namespace': {},
  'v1/ConfigMap': { data: 'any' },
  'v1/Secret': { stringData: 'any' },
  'v1/ServiceAccount': { automountServiceAccountToken: 'any' },
  'v1/Service': {
    spec: { ...any('selector', 'clusterIP'), ports: any('name', 'port', 'targetPort', 'protocol') },
  },
  'v1/PersistentVolume': {
    spec: any(
      'capacity',
      'accessModes',
      'persistentVolumeReclaimPolicy',
      'storageClassName',
      'claimRef',
      'hostPath',
    ),
  },
  'v1/PersistentVolumeClaim': { spec: claimSpec },
  'apps/v1/Deployment': {
    spec: { ...any('replicas', 'revisionHistoryLimit', 'strategy'), selector, template },
  },
  'apps/v1/StatefulSet': {
    spec: {
      ...any('replicas', 'serviceName'),
      selector,
      template,
      volumeClaimTemplates: { metadata: any('name'), spec: claimSpec },
    },
  },
  'batch/v1/Job': { spec: jobSpec },
  'batch/v1/CronJob': {
    spec: {
      ...any('schedule', 'concurrencyPolicy', 'startingDeadlineSeconds'),
      ...any('successfulJobsHistoryLimit', 'failedJobsHistoryLimit'),
      jobTemplate: { spec: jobSpec },
    },
  },
  'policy/v1/PodDisruptionBudget': { spec: { ...any('maxUnavailable', 'minAvailable'), selector } },
  'networking.k8s.io/v1/NetworkPolicy': {
    spec: {
      podSelector: selector,
      policyTypes: 'any',
      ingress: { from: peer, ports: port },
      egress: { to: peer, ports: port },
    },
  },
  'autoscaling/v2/HorizontalPodAutoscaler': {
    spec: {
      ...any('minReplicas', 'maxReplicas', 'behavior'),
      scaleTargetRef: any('apiVersion', 'kind', 'name'),
      metrics: { type: 'any', external: { metric: any('name', 'selector'), target: 'any' } },
    },
  },
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
