import { z } from 'zod'
import { wait } from './durations.ts'

/** What a replica remembers of the requests that it has decided: /explain/{requestId} on the operations listener. */
export const explainSettings = z.strictObject({
  entries: z.int().min(0).max(1_000_000).describe('Requests that are remembered, the newest ones; 0 remembers none.'),
  ttlMs: wait(1_000).describe('How long each is remembered.'),
})

export const tracingSettings = z.strictObject({
  enabled: z
    .boolean()
    .describe(
      'A span per request by the OpenTelemetry API. An SDK that is loaded beside exports them; there is none here.',
    ),
})
