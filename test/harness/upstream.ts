import { Registry } from 'prom-client'
import { createTrialMetrics, createUpstreamMetrics, TrialBook } from '../../src/backends/index.ts'
import { createUpstream, type Upstream, type UpstreamPorts } from '../../src/backends/upstream/upstream.ts'
import type { UpstreamConfiguration } from '../../src/config/index.ts'
import { isCode } from '../../src/contract/index.ts'
import type { Durations } from '../../src/kernel/index.ts'
import { createLocalPubSub } from '../../src/platform/pubsub.ts'
import { systemClock, systemDurations, systemRandomness } from '../../src/platform/runtime/index.ts'

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

/** The states of shadows and canaries of one process. */
export function trialsOf(registry: Registry, durations: Durations) {
  const metrics = createTrialMetrics(registry)
  const ports = { clock: systemClock, durations, pubsub: createLocalPubSub(), metrics, onReturn: () => undefined }
  return { book: new TrialBook(ports), metrics, randomness: systemRandomness }
}
