import { Module } from '@nestjs/common';
import { runApp, ServiceConfig } from '#service';

@Module({})
class AppModule {}

await runApp({
  name: 'producer',
  description: 'not built yet',
  config: { service: ServiceConfig },
  module: AppModule,
  services: [],
});
