import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Decision } from '../../../src/gateway/observability/explain.ts'
import { type IndexPageParts, indexPolicy, renderIndex } from '../../../src/gateway/operations/index-page.ts'
import { toInstant } from '../../../src/kernel/index.ts'

const decision: Decision = {
  ...{ sequence: 1, requestId: 'an-id', idempotencyKey: null, at: toInstant(Date.UTC(2026, 2, 2, 9, 30)) },
  ...{ operation: 'transfers.create', chain: 'consumer', account: null, workspace: null, status: 200, code: null },
  ...{ internal: 'planted', ms: 12.34, stageIndex: 1, startedAt: 0, endedAt: 1, stageEnds: [], traceId: null },
}

function render(requests: readonly Decision[] = [], changes: Partial<IndexPageParts> = {}): string {
  const parts: IndexPageParts = {
    version: '1.2.3',
    replica: 'gateway-1',
    role: 'gateway',
    startedAt: toInstant(0),
    links: [{ href: 'https://portal.example/docs', text: 'API reference' }],
    lastRequests: () => requests,
    ...changes,
  }
  const checks = [
    { name: 'store', state: 'ok' as const },
    { name: 'cache', state: 'failed' as const, reason: 'no answer <at all>' },
  ]
  return renderIndex(parts, { readiness: 'unready', checks, paths: ['/status', '/mail'] })
}

test('the index page shows the health, the version, the replica and links', () => {
  const page = render()
  expect(page).toContain('<h1>Portico 1.2.3</h1>')
  expect(page).toContain('Gateway gateway-1, started <time datetime="1970-01-01T00:00:00.000Z">')
  expect(page).toContain('Health: <span class="bad">unready</span>')
  expect(page).toContain('<li>store: ok</li><li>cache: <span class="bad">failed</span> (no answer &lt;at all&gt;)</li>')
  expect(page).toContain('<a href="/mail">/mail</a>')
  expect(page).toContain('<a href="https://portal.example/docs">API reference</a>')
  expect(page).toContain('<p>No request yet.</p>')
})

test('the index page lists requests with their explanation, without internal reasons', () => {
  const page = render([
    decision,
    { ...decision, operation: null, status: null, code: 'REQUEST.MALFORMED' },
    { ...decision, status: 503 },
  ])
  expect(page).toContain(
    '<td><time datetime="2026-03-02T09:30:00.000Z">09:30:00</time></td><td>transfers.create</td>' +
      '<td>200</td><td></td><td class="number">12.3</td><td><a href="/explain/an-id">an-id</a></td>',
  )
  expect(page).toContain('<td>none</td><td>abandoned</td><td>REQUEST.MALFORMED</td>')
  expect(page).toContain('<td><span class="bad">503</span></td>')
  expect(page).not.toContain('planted')
})

test('the index page escapes ids that clients choose', () => {
  const page = render([{ ...decision, requestId: `"><script>'/..?#` }])
  expect(page).toContain(`<a href="/explain/%22%3E%3Cscript%3E&#39;%2F..%3F%23">&quot;&gt;&lt;script&gt;&#39;/..?#</a>`)
})

test('the policy of the index page permits its style, and neither scripts nor other resources', () => {
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(render()) ?? []
  expect(indexPolicy).toBe(
    `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
  expect(render()).not.toMatch(/<script|style=|\son\w+=/)
})
