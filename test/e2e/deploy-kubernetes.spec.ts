import { describe, expect, it } from '@jest/globals';
import {
  appOf,
  GROUPS,
  settingsRead,
  heapMegabytes,
  keysOfApp,
  manifestsIn,
  mebibytes,
  NODE_KEYS,
  rendered,
  yamlsOf,
  type Manifest,
} from './deploy-files.js';
import { secretsOf } from './deploy-secrets.js';
import { schemaErrors } from './deploy-schemas.js';
import {
  environmentOf,
  isOurs,
  named,
  podsOf,
  secretValue,
  selects,
  type Pod,
  type Selector,
} from './deploy-pods.js';

const FOLDER = 'deploy/kubernetes';
const HPA = yamlsOf<Manifest>(`${FOLDER}/components/hpa/autoscalers.yaml`);

describe('the schemas of Kubernetes', () => {
  it('tell a field, a value, a kind or a version that is wrong, and what is missing', () => {
    const service = named(rendered(`${FOLDER}/base`), 'Service', 'dlq-admin');
    const wrong = [
      { spec: { ...service.spec, slector: {} } },
      { spec: { ports: [{ port: '80' }] } },
      { kind: 'Servise' },
      { apiVersion: 'extensions/v1beta1' },
      { spec: { ports: [{}] } },
    ];
    expect(schemaErrors(wrong.map((change) => ({ ...service, ...change })))).toEqual([
      expect.stringContaining('"slector"\' does not exist'),
      expect.stringContaining("'string' is not assignable to type 'number'"),
      expect.stringContaining("no exported member 'Servise'"),
      expect.stringContaining('Cannot find module'),
      expect.stringContaining("'port' is missing"),
    ]);
  });
});

describe('the manifests in the documentation', () => {
  it('are what the API takes, and give the claim that the pods mount', () => {
    const shown = manifestsIn('docs/deployment.md');
    expect(schemaErrors(shown)).toEqual([]);
    expect(shown.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['PersistentVolume', 'millrace-tree'],
      ['PersistentVolumeClaim', 'millrace-tree'],
    ]);
  });
});

describe.each(['laptop', 'production'])('the Kubernetes overlay %s', (overlay) => {
  const manifests = rendered(`${FOLDER}/overlays/${overlay}`);
  const secrets = secretsOf(overlay);
  const pods = podsOf(manifests);
  const ours = pods.filter(isOurs);
  const of = (...kinds: string[]): Manifest[] => manifests.filter(({ kind }) => kinds.includes(kind));
  const env = ({ spec }: Pod): Record<string, string> =>
    Object.assign({}, ...spec.containers.map((one) => environmentOf(one, manifests, secrets))) as Record<
      string,
      string
    >;

  it('runs every app', () => {
    const apps = ours.map(({ spec }) => appOf(spec.containers[0]?.args));
    expect([...new Set(apps)].sort()).toEqual(Object.keys(GROUPS).sort());
  });

  it('is taken by the API of Kubernetes: kinds, versions, fields and their types', () => {
    expect(schemaErrors([...manifests, ...HPA, ...secrets])).toEqual([]);
  });

  it('names every thing once, in the one namespace', () => {
    const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(names).toEqual([...new Set(names)]);
    const namespaces = manifests.flatMap(({ metadata }) => metadata.namespace ?? []);
    expect(new Set(namespaces)).toEqual(new Set(['millrace']));
  });

  it('mounts and claims only what exists', () => {
    for (const { spec } of pods) {
      named(manifests, 'ServiceAccount', spec.serviceAccountName);
      for (const { persistentVolumeClaim, secret } of spec.volumes) {
        if (persistentVolumeClaim) named(manifests, 'PersistentVolumeClaim', persistentVolumeClaim.claimName);
        for (const { key } of secret?.items ?? [])
          expect(secretValue(secrets, { name: secret?.secretName ?? '', key })).toMatch(/./);
      }
      const claimed = (of('StatefulSet').find((one) => one.spec?.template && podsOf([one])[0]?.spec === spec)
        ?.spec?.volumeClaimTemplates ?? []) as Manifest[];
      const volumes = [...spec.volumes.map(({ name }) => name), ...claimed.map((one) => one.metadata.name)];
      for (const { volumeMounts = [] } of spec.containers)
        expect(volumes).toEqual(expect.arrayContaining(volumeMounts.map(({ name }) => name)));
    }
  });

  it('tells each app only what it understands, and nothing that it refuses', () => {
    for (const pod of ours) {
      const app = appOf(pod.spec.containers[0]?.args);
      const given = env(pod);
      const known = [...keysOfApp(app).all, ...NODE_KEYS];
      const shared = Object.keys(named(manifests, 'ConfigMap', 'millrace-settings').data as object);
      const unknown = Object.keys(given).filter((key) => !known.includes(key) && !shared.includes(key));
      expect({ app, unknown }).toEqual({ app, unknown: [] });
      const files = Object.keys(given).filter((key) => key.endsWith('_FILE'));
      const values = Object.entries(given).filter(([key]) => !files.includes(key));
      expect(settingsRead(app, Object.fromEntries(values))).toEqual(Object.keys(GROUPS[app] as object));
    }
  });

  it('shares only settings that some app reads', () => {
    const all = Object.keys(GROUPS).flatMap((app) => keysOfApp(app).all);
    const shared = named(manifests, 'ConfigMap', 'millrace-settings').data as Record<string, unknown>;
    expect(all).toEqual(expect.arrayContaining(Object.keys(shared)));
    for (const value of Object.values(shared)) expect(typeof value).toBe('string');
  });

  it('holds no password, and gives each app its own, for a user and a role that only it has', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    const users = new Map<string, Set<string>>();
    for (const pod of ours) {
      const app = appOf(pod.spec.containers[0]?.args);
      for (const url of ['REDIS_URL', 'DATABASE_URL'].flatMap((key) => env(pod)[key] ?? [])) {
        const { protocol, username, password } = new URL(url);
        expect({ app, username, guarded: password.length > 9 }).toMatchObject({ guarded: true });
        expect(['postgres', 'default', 'millrace']).not.toContain(username);
        const user = `${protocol}${username}`;
        users.set(user, (users.get(user) ?? new Set()).add(pod.labels['app.kubernetes.io/name'] ?? app));
      }
    }
    expect([...users.values()].filter(({ size }) => size > 1)).toEqual([]);
    expect(users.size).toBe(12);
  });

  it('takes every secret from a Secret, and every value is text', () => {
    for (const { spec } of ours)
      for (const { env = [], args } of spec.containers)
        for (const { name, value, valueFrom } of env) {
          if (keysOfApp(appOf(args)).secret.includes(name)) expect(valueFrom).toHaveProperty('secretKeyRef');
          else expect({ name, type: typeof value }).toEqual({ name, type: 'string' });
        }
  });

  it('reads each file of a secret from where the secret is mounted', () => {
    for (const { spec } of ours)
      for (const { env = [], volumeMounts = [] } of spec.containers)
        for (const { name, value = '' } of env.filter(({ name }) => name.endsWith('_FILE'))) {
          const paths = spec.volumes.flatMap(({ name, secret }) =>
            (secret?.items ?? []).map(
              ({ path }) => `${volumeMounts.find((mount) => mount.name === name)?.mountPath}/${path}`,
            ),
          );
          expect({ name, paths }).toEqual({
            name,
            paths: expect.arrayContaining([value]) as unknown as string[],
          });
        }
  });

  it('runs every container as the restricted profile asks, on a read-only file system, without a token', () => {
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number) as unknown as number,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.securityContext.runAsUser).not.toBe(0);
      expect(spec.automountServiceAccountToken).toBe(false);
      for (const { securityContext } of spec.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
    for (const account of of('ServiceAccount')) expect(account.automountServiceAccountToken).toBe(false);
  });

  it('gives heaps about three quarters of the memory limit', () => {
    for (const pod of ours)
      for (const { resources } of pod.spec.containers) {
        const share = heapMegabytes(env(pod)) / mebibytes(resources.limits.memory);
        expect(share).toBeGreaterThanOrEqual(0.7);
        expect(share).toBeLessThanOrEqual(0.8);
        expect(mebibytes(resources.requests.memory)).toBeLessThanOrEqual(mebibytes(resources.limits.memory));
      }
  });

  it('waits longer for an end than the end may take', () => {
    for (const pod of ours) {
      const shutdownMs = Number(env(pod).SHUTDOWN_TIMEOUT_MS ?? 5_000);
      const preStop = pod.spec.containers[0]?.lifecycle?.preStop.exec.command.at(-1) ?? '';
      const waitMs = Number(/, (\d+)\)/.exec(preStop)?.[1] ?? 0);
      expect(pod.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(
        shutdownMs + waitMs + 2_000,
      );
    }
  });

  it('asks every fleet for its three probes on the port that it serves', () => {
    for (const { spec } of ours.filter(({ owner }) => owner.kind === 'Deployment')) {
      const [container] = spec.containers;
      expect(container).toMatchObject({
        ports: [{ name: 'http', containerPort: 8080 }],
        startupProbe: { httpGet: { path: '/health/startup', port: 'http' } },
        livenessProbe: { httpGet: { path: '/health/live', port: 'http' } },
        readinessProbe: { httpGet: { path: '/health/ready', port: 'http' } },
      });
    }
  });

  it('never starts a scan anew for a fault that only a person can mend', () => {
    const jobs = ours.filter(({ owner }) => owner.kind !== 'Deployment');
    expect(jobs.map(({ spec }) => spec.restartPolicy)).toEqual(jobs.map(() => 'Never'));
    for (const { owner, spec } of jobs) {
      const job = (owner.kind === 'CronJob' ? (owner.spec?.jobTemplate as Manifest) : owner).spec;
      expect(job?.podFailurePolicy).toMatchObject({
        rules: [{ action: 'FailJob', onExitCodes: { containerName: spec.containers[0]?.name } }, {}],
      });
    }
  });

  it('mounts the tree read-only wherever files are read', () => {
    for (const app of ['producer', 'batcher', 'analyzer'])
      for (const { spec } of ours.filter(({ spec }) => appOf(spec.containers[0]?.args) === app)) {
        const volume = spec.volumes.find(
          ({ persistentVolumeClaim: claim }) => claim?.claimName === 'millrace-tree',
        );
        expect(volume?.persistentVolumeClaim?.readOnly).toBe(true);
        expect(spec.containers[0]?.volumeMounts).toContainEqual({
          name: volume?.name,
          mountPath: '/tree',
          readOnly: true,
        });
      }
  });

  it('selects with every selector the pods that it means, and only by labels that they have', () => {
    for (const { kind, metadata, spec } of of(
      'Deployment',
      'StatefulSet',
      'PodDisruptionBudget',
      'PodMonitor',
    )) {
      const found = pods.filter((pod) => selects(spec?.selector as Selector, pod)).map(({ owner }) => owner);
      const names = found.map((owner) => owner.metadata.name);
      if (kind !== 'PodMonitor') expect(names).toEqual([metadata.name]);
      else expect(names.length).toBeGreaterThan(0);
    }
    for (const { spec } of of('Service')) {
      const [pod] = pods.filter((one) => selects({ matchLabels: spec?.selector as never }, one));
      const ports = pod?.spec.containers.flatMap((one) => one.ports ?? []).map(({ name }) => name);
      for (const { targetPort } of spec?.ports as { targetPort: string }[])
        expect(ports).toContain(targetPort);
    }
  });

  it('denies all traffic but what a policy names, and lets every app reach its stores', () => {
    const policies = of('NetworkPolicy');
    expect(named(manifests, 'NetworkPolicy', 'default-deny').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    for (const { metadata, spec } of policies)
      expect({
        policy: metadata.name,
        pods: pods.filter((pod) => selects(spec?.podSelector as Selector, pod)).length > 0,
      }).toEqual({ policy: metadata.name, pods: true });
    for (const pod of ours) {
      const ports = policies
        .filter(({ spec }) => selects(spec?.podSelector as Selector, pod))
        .flatMap(({ spec }) => (spec?.egress ?? []) as { ports: { port: number }[] }[])
        .flatMap((rule) => rule.ports.map(({ port }) => port));
      const urls = ['REDIS_URL', 'DATABASE_URL'].flatMap((key) => env(pod)[key] ?? []);
      for (const url of urls) expect(ports).toContain(Number(new URL(url).port));
    }
  });

  it('scales Deployments that exist, by queues that exist, and leaves their number to the scaler', () => {
    const scaled = [...of('ScaledObject'), ...(overlay === 'production' ? HPA : [])];
    expect(scaled).toHaveLength(overlay === 'production' ? 4 : 0);
    for (const { spec } of scaled) {
      const { name } = spec?.scaleTargetRef as { name: string };
      expect(named(manifests, 'Deployment', name).spec).not.toHaveProperty('replicas');
      const queue = { batcher: 'files-to-batch-queue', analyzer: 'file-analysis-queue' }[name];
      expect(JSON.stringify(spec)).toContain(queue);
    }
  });
});
