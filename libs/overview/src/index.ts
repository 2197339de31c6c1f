export { PipelineOverview, queueOf } from './pipeline-overview.js';
export { Explanations } from './explanations.repository.js';
