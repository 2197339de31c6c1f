import { servers } from './start-services.mjs';

export default async function stopServices() {
  await Promise.all(servers.map((server) => server.stop()));
}
