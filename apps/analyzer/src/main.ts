import { Module } from '@nestjs/common';
import { runApp, ServiceConfig } from '#service';

@Module({})
class AppModule {}

await runApp({
  name: 'analyzer',
  description: 'not built yet',
  config: { service: ServiceConfig },
  module: AppModule,
  services: [],
});
