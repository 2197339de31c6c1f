// Prints the laptop's overlay as `podman kube play` of 4.3 takes it. Of each pod only what that cannot do is put otherwise: it has no
// controllers (a Job or StatefulSet is its pod), reads no Secret that it made (values stand in the environment, files come from a
// ConfigMap), takes a container's port for the host's, and gives no volume to the pod's group (claims are folders).
// Arguments: a folder for secrets and claims, the folder that is the tree.
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { rendered, type Fields, type Manifest } from '../e2e/deploy-files.js';
import { environmentOf, podsOf, type Container, type Pod, type Volume } from '../e2e/deploy-pods.js';
import { laptopSecrets, makeSecrets } from '../e2e/deploy-secrets.js';

const [folder = '', tree = ''] = process.argv.slice(2);
makeSecrets(join(folder, 'secrets'));
const secrets = laptopSecrets(join(folder, 'secrets'));
const manifests = rendered('deploy/kubernetes/overlays/laptop');
const pods = podsOf(manifests).filter(({ owner }) => owner.kind !== 'CronJob');
const all = [...secrets.map(asConfigMap), ...pods.map(podOf)];
process.stdout.write(all.map((one) => JSON.stringify(one)).join('\n---\n'));

function asConfigMap({ metadata, stringData }: Manifest): Fields {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: stringData };
}

function podOf({ owner, labels, spec }: Pod): Fields {
  const { name } = owner.metadata;
  const claims = ((owner.spec?.volumeClaimTemplates ?? []) as Manifest[]).map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
  const volumes = [...spec.volumes, ...claims].map((volume) => volumeOf(volume, spec.securityContext));
  const containers = spec.containers.map(containerOf);
  const restartPolicy = owner.kind === 'Job' ? 'OnFailure' : 'Always';
  const pod = { ...spec, containers, restartPolicy, volumes };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: pod };
}

function containerOf(container: Container): Fields {
  const env = Object.entries(environmentOf(container, manifests, secrets));
  return { ...container, ports: [], envFrom: [], env: env.map(([name, value]) => ({ name, value })) };
}

function volumeOf(volume: Volume, { runAsUser, fsGroup }: Fields): Fields {
  const { name, secret, persistentVolumeClaim: claim } = volume;
  if (secret) return { name, configMap: { name: secret.secretName, items: secret.items, optional: false } };
  if (!claim) return volume;
  if (claim.claimName === 'millrace-tree') return { name, hostPath: { path: tree, type: 'Directory' } };
  const path = join(folder, claim.claimName);
  mkdirSync(path, { recursive: true });
  chownSync(path, Number(runAsUser), Number(fsGroup));
  return { name, hostPath: { path, type: 'Directory' } };
}
