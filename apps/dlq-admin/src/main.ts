import { runApp } from '#service';
import { apps } from '../../configurations.js';
import { config } from './dlq-admin.config.js';
import { DlqAdminModule, SERVICES } from './dlq-admin.module.js';
import { configureHttp } from './http/configure.js';

await runApp({
  name: 'dlq-admin',
  description: 'Takes in dead letters and lets operators inspect, search, edit, discard and requeue them.',
  config,
  apps,
  imports: [DlqAdminModule],
  services: SERVICES,
  configure: (app, { admin }) => configureHttp(app, admin),
});
