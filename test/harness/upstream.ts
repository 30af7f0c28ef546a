import { Registry } from 'prom-client'
import { createUpstreamMetrics } from '../../src/backends/index.ts'
import { createUpstream, type Upstream, type UpstreamPorts } from '../../src/backends/upstream/upstream.ts'
import type { UpstreamConfiguration } from '../../src/config/index.ts'
import { isCode } from '../../src/contract/index.ts'
import { systemDurations } from '../../src/platform/runtime/index.ts'

export function openUpstream(
  settings: UpstreamConfiguration,
  ports: Partial<UpstreamPorts> = {},
  idleTimeoutMs = 60_000,
): Upstream {
  const all = {
    assertionOf: async () => 'an assertion',
    metrics: createUpstreamMetrics(new Registry()),
    isCode,
    durations: systemDurations,
    ...ports,
  }
  return createUpstream(settings, all, { maxBufferedBytes: 65_536, idleTimeoutMs })
}
