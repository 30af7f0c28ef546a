import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { needs } from '../harness/needs.ts'
import { promtool, promtoolIsInstalled } from '../harness/promtool.ts'
import { root } from '../harness/settings.ts'

describe('the shipped alert rules, with promtool', needs(promtoolIsInstalled(), 'promtool is not installed'), () => {
  test('are valid', () => {
    const { code, out } = promtool(['check', 'rules', join(root, 'deploy/prometheus/alerts.yaml')])
    expect([code, out]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
  })

  test.each(['alert-rules', 'alert-incidents', 'alert-days'])('%s: fire when they should, and not before', (file) => {
    const { code, out } = promtool(['test', 'rules', join(root, `test/config/${file}.yaml`)])
    expect([code, out]).toEqual([0, expect.stringContaining('SUCCESS')])
  })
})

const guide = 'docs/guides/alerts.md'
const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          labels: z.object({ severity: z.enum(['critical', 'warning']) }),
          annotations: z.object({ summary: z.string().min(1), runbook_url: z.string() }),
        }),
      ),
    }),
  ),
})

test('each alert has a severity, a summary, and a section of the guide that describes it', () => {
  const rules = Rules.parse(load(readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8'))).groups.flatMap(
    (group) => group.rules,
  )
  const prefix = `https://github.com/portico-gateway/portico/blob/main/${guide}#`
  const sections = readFileSync(join(root, guide), 'utf8').split(/^## /m)
  const sectionOf = (alert: string) =>
    sections.filter((section) => section.includes(`\`${alert}\``)).map((section) => section.split('\n', 1)[0] ?? '')
  for (const { alert, annotations } of rules)
    expect(sectionOf(alert).map(toAnchor), alert).toContain(annotations.runbook_url.replace(prefix, ''))
  const described = sections.flatMap((section) => [...section.matchAll(/`(Portico[A-Z]\w+)`/g)].map(([, name]) => name))
  expect(described.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([])
})

/** The anchor that GitHub gives to a heading. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
}
