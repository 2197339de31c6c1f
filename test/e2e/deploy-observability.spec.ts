import { describe, expect, it } from '@jest/globals';
import { QUEUE } from '#contracts';
import { textOf } from './deploy-files.js';
import { alertRules, dashboardPanels, expressions } from './deploy-observability.js';

/** A heading as the anchor that GitHub makes of it. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('the observability pack', () => {
  it('sends every alert to a page of the operations manual that exists', () => {
    const known = anchors(textOf('docs/operations.md'));
    for (const { alert, annotations } of alertRules()) {
      const [file, anchor] = (annotations.runbook ?? '').split('#');
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
