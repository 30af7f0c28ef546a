import { afterEach, expect, test, vi } from 'vitest'
import { startExport } from '../../../src/platform/tracing/export.ts'
import { captureLog } from '../../harness/log.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('an invalid variable of OpenTelemetry costs one line that names it, and shows no header', async () => {
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret%E2%82%AC',
    OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
    OTEL_BSP_SCHEDULE_DELAY: 'often',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '5',
  }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const { logger, lines } = captureLog()
  const stop = await startExport({ version: '1', replica: 'a-1' }, logger)
  await stop()
  const reasons = lines.filter(({ msg }) => msg === 'invalid OTEL_* variable').map(({ reason }) => String(reason))
  for (const name of ['OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_BSP_SCHEDULE_DELAY', 'OTEL_TRACES_SAMPLER_ARG'])
    expect(reasons.filter((reason) => reason.includes(name))).toHaveLength(1)
  expect(JSON.stringify(lines)).not.toContain('secret')
})
