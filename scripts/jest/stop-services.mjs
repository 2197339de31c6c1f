import { started } from './start-services.mjs';

export default async function stopServices() {
  await Promise.all(started.map((stop) => stop()));
}
