import { expect, test } from 'vitest'
import { prefersOpenMetrics, toOpenMetrics } from '../../../src/gateway/operations/openmetrics.ts'
import { createMetrics } from '../../../src/platform/telemetry/index.ts'

test.each([
  // Prometheus 2.42 and 3.
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    true,
  ],
  [
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.2',
    true,
  ],
  ['Application/OpenMetrics-Text', true],
  ['text/plain;version=0.0.4;q=1,application/openmetrics-text;q=0.5', false],
  ['application/openmetrics-text;q=0', false],
  ['application/openmetrics-text;q=nonsense', false],
  ['text/plain', false],
  ['*/*', false],
  ['', false],
])('the header Accept «%s» selects OpenMetrics: %s', (accept, isPreferred) => {
  expect(prefersOpenMetrics(accept)).toBe(isPreferred)
})

test('counters lose their suffix in comments only; the text ends with EOF', () => {
  const text =
    '# HELP a_total A # TYPE b_total counter\n# TYPE a_total counter\na_total 1\n\n# HELP b_total B\n# TYPE b_total gauge\nb_total 2\n'
  expect(toOpenMetrics(text, new Map())).toBe(
    '# HELP a A # TYPE b_total counter\n# TYPE a counter\na_total 1\n# HELP b_total B\n# TYPE b_total gauge\nb_total 2\n# EOF\n',
  )
})

test('the duration of a sampled request has an exemplar in its bucket, in OpenMetrics only', async () => {
  const metrics = createMetrics()
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const request = { operation: 'wallets.list', status: 200, code: null }
  metrics.startRequest()({ ...request, traceId })
  metrics.startRequest()({ ...request, status: 404 })
  const exposed = await metrics.expose()
  const text = toOpenMetrics(exposed.text, exposed.exemplars)
  const withExemplar = text.split('\n').filter((line) => line.includes(' # {'))
  expect(withExemplar).toEqual([
    expect.stringMatching(
      /^portico_request_duration_seconds_bucket\{le="[\d.]+",operation="wallets.list",status="200"\} 1 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} [\d.e-]+ \d+\.?\d*$/,
    ),
  ])
  expect(exposed.text).not.toContain(traceId)
})

test('both forms have the same samples', async () => {
  const metrics = createMetrics()
  metrics.commandReplayed('wallets.create')
  metrics.startRequest()({ operation: 'wallets.list', status: 200, code: null })
  const namesIn = (text: string) => text.split('\n').flatMap((line) => /^[a-z][^{ ]*/.exec(line) ?? [])
  const { text, exemplars } = await metrics.expose()
  expect(namesIn(toOpenMetrics(text, exemplars))).toEqual(namesIn(text))
  expect(namesIn(text).length).toBeGreaterThan(20)
})
