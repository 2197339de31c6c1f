export { formatOf, renderBatch } from './envelope.js';
export { EnvelopeConfig, writtenAs } from './envelope.config.js';
export { EnvelopeMeter } from './envelope-meter.js';
export { FORMATS, type EnvelopeName, type FormatName, type LoadedFile, type PartFacts } from './format.js';
export { shownPath } from './shown-path.js';
