import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { promtool, promtoolIsInstalled } from '../harness/promtool.ts'
import { root } from '../harness/settings.ts'

describe('the shipped alert rules, with promtool', needs(promtoolIsInstalled(), 'promtool is not installed'), () => {
  test('are valid', () => {
    const { code, out } = promtool(['check', 'rules', join(root, 'deploy/prometheus/alerts.yaml')])
    expect([code, out]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
  })

  test('fire when they should, and not before', () => {
    const { code, out } = promtool(['test', 'rules', join(root, 'test/config/alert-rules.yaml')])
    expect([code, out]).toEqual([0, expect.stringContaining('SUCCESS')])
  })
})
