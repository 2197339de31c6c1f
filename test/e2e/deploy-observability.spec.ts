import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { QUEUE } from '#contracts';
import { NotRunHere } from '#testing';
import { fileOf, textOf, yamlOf } from './deploy-files.js';
import { alertRules, dashboardPanels, expressions } from './deploy-observability.js';

interface AlertCase {
  alertname: string;
  exp_alerts: unknown[];
}

/** A heading as the anchor that GitHub makes of it. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

function promtool(...args: string[]): string {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  if (error) throw new NotRunHere('promtool is not installed (package prometheus)');
  return `${status} ${status === 0 ? '' : stdout + stderr}`;
}

describe('the observability pack', () => {
  it.each([
    ['check', 'alerts.yaml'],
    ['test', 'alerts.test.yaml'],
  ])('has rules that promtool accepts: %s rules %s', (verb, file) => {
    expect(promtool(verb, 'rules', fileOf(`deploy/observability/${file}`))).toBe('0 ');
  });

  it('has for every alert a case in which it fires and one in which it does not', () => {
    const { tests } = yamlOf<{ tests: { alert_rule_test: AlertCase[] }[] }>(
      'deploy/observability/alerts.test.yaml',
    );
    const cases = tests.flatMap(({ alert_rule_test: all }) => all);
    for (const { alert } of alertRules()) {
      const fires = cases
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts: { length } }) => length > 0);
      expect({ alert, fires: fires.sort() }).toEqual({ alert, fires: [false, true] });
    }
  });

  it('sends every alert to a page of the operations manual that exists', () => {
    const known = anchors(textOf('docs/operations.md'));
    for (const { alert, annotations } of alertRules()) {
      const [file, anchor] = (annotations.runbook_url ?? '').split('#');
      expect({ alert, file, known: known.includes(anchor ?? '') }).toEqual({
        alert,
        file: 'docs/operations.md',
        known: true,
      });
    }
  });

  it('says in each alert how grave it is and what is the matter, once', () => {
    const rules = alertRules();
    expect(rules.length).toBeGreaterThan(12);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\w.*\.|\?$/);
    }
  });

  it('names only queues that exist', () => {
    const named = expressions().flatMap(({ text }) =>
      [...text.matchAll(/queue!?="([^"]+)"/g)].map(([, queue]) => queue),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(Object.values(QUEUE)).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  it('never adds up a figure that every process reports alike', () => {
    const shared =
      /\bsum( by \([^)]*\))? ?\((millrace_(queue_jobs|queue_oldest|outbox_pending|outbox_dead|dlq_depth)\b)/;
    for (const { where, text } of expressions())
      expect({ where, match: shared.exec(text) }).toEqual({ where, match: null });
  });

  it('lays the panels of the dashboard side by side, each with an id of its own', () => {
    const panels = dashboardPanels();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
