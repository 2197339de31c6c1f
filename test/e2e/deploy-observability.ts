import { textOf, yamlOf, yamlsOf, type Manifest } from './deploy-files.js';

export interface AlertRule {
  alert: string;
  expr: string;
  labels: { severity?: string };
  annotations: { summary?: string; runbook_url?: string };
}

export interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

export function alertRules(): AlertRule[] {
  const { groups } = yamlOf<{ groups: { rules: AlertRule[] }[] }>('deploy/observability/alerts.yaml');
  return groups.flatMap(({ rules }) => rules);
}

export function dashboardPanels(): Panel[] {
  return (JSON.parse(textOf('deploy/observability/dashboard.json')) as { panels: Panel[] }).panels;
}

export interface Expression {
  where: string;
  text: string;
}

/** Everything that asks for one of our metrics: dashboard, alerts, KEDA, HPA and its adapter. */
export function expressions(): Expression[] {
  const panels = dashboardPanels().flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `panel ${title}`, text: expr })),
  );
  const rules = alertRules().map(({ alert, expr }) => ({ where: `alert ${alert}`, text: expr }));
  return [...panels, ...rules, ...scaling()];
}

function scaling(): Expression[] {
  const folder = 'deploy/kubernetes/components';
  const keda = yamlsOf<Manifest>(`${folder}/keda/scaled-objects.yaml`).flatMap(({ metadata, spec }) =>
    (spec?.triggers as { metadata: { query: string } }[]).map((trigger) => ({
      where: `KEDA ${metadata.name}`,
      text: trigger.metadata.query,
    })),
  );
  const hpa = yamlsOf<Manifest>(`${folder}/hpa/autoscalers.yaml`).flatMap(({ metadata, spec }) =>
    (spec?.metrics as { external: { metric: { name: string; selector: Selector } } }[]).map(
      ({ external: { metric } }) => ({ where: `HPA ${metadata.name}`, text: series(metric) }),
    ),
  );
  const adapter = yamlOf<{ rules: { external: { seriesQuery: string }[] } }>(
    `${folder}/hpa/prometheus-adapter.values.yaml`,
  ).rules.external.map(({ seriesQuery }) => ({ where: 'prometheus-adapter', text: seriesQuery }));
  return [...keda, ...hpa, ...adapter];
}

interface Selector {
  matchLabels: Record<string, string>;
}

function series({ name, selector }: { name: string; selector: Selector }): string {
  const labels = Object.entries(selector.matchLabels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${labels.join(',')}}`;
}

/** The metrics that an expression reads, each with the labels that it is selected by. */
export function metricsIn(text: string): { name: string; labels: string[] }[] {
  return [...text.matchAll(/\b(millrace_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label),
  }));
}
