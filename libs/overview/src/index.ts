export { PipelineOverview, queueOf, type OverviewOptions } from './pipeline-overview.js';
export { Explanations, type OriginQueues } from './explanations.repository.js';
