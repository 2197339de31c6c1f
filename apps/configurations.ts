import type { AppConfigurations } from '#config';

/** Every app's configuration. The one place that names them all: for a JSON file that they share, and for the reference. */
export const apps = {
  producer: async () => (await import('./producer/src/producer.config.js')).config,
  batcher: async () => (await import('./batcher/src/batcher.config.js')).config,
  'outbox-publisher': async () => (await import('./outbox-publisher/src/outbox-publisher.config.js')).config,
  analyzer: async () => (await import('./analyzer/src/analyzer.config.js')).config,
  'dlq-admin': async () => (await import('./dlq-admin/src/dlq-admin.config.js')).config,
  cli: async () => (await import('./cli/src/cli.config.js')).config,
} satisfies AppConfigurations;
