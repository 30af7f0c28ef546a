import { Counter, type Registry } from 'prom-client'

/** Labels have few values, and clients cannot choose them. */
export interface PerimeterMetrics {
  limitHit(limit: string): void
  channelSession(outcome: 'opened' | 'refused' | 'closed'): void
  channelBody(outcome: 'opened' | 'refused'): void
  malformedRequest(status: number): void
  providerLogout(outcome: 'accepted' | 'refused' | 'unavailable'): void
}

export function createPerimeterMetrics(registry: Registry): PerimeterMetrics {
  const registers = [registry]
  const limits = new Counter({
    name: 'portico_limit_hits_total',
    help: 'Requests refused by a rate limit, by limit',
    labelNames: ['limit'],
    registers,
  })
  const sessions = new Counter({
    name: 'portico_channel_sessions_total',
    help: 'Channel sessions opened, refused and closed',
    labelNames: ['outcome'],
    registers,
  })
  const bodies = new Counter({
    name: 'portico_channel_bodies_total',
    help: 'Encrypted request bodies opened and refused',
    labelNames: ['outcome'],
    registers,
  })
  const malformed = new Counter({
    name: 'portico_malformed_requests_total',
    help: 'Requests that the HTTP parser refused, by status',
    labelNames: ['status'],
    registers,
  })
  const logouts = new Counter({
    name: 'portico_provider_logouts_total',
    help: 'Logout tokens of identity providers, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  // Each series starts with 0, so that alerts work before the first event.
  for (const outcome of ['opened', 'refused', 'closed']) sessions.inc({ outcome }, 0)
  for (const outcome of ['opened', 'refused']) bodies.inc({ outcome }, 0)
  for (const outcome of ['accepted', 'refused', 'unavailable']) logouts.inc({ outcome }, 0)
  for (const status of [400, 405, 408, 413, 417, 431, 505]) malformed.inc({ status }, 0)
  return {
    limitHit: (limit) => limits.inc({ limit }),
    channelSession: (outcome) => sessions.inc({ outcome }),
    channelBody: (outcome) => bodies.inc({ outcome }),
    providerLogout: (outcome) => logouts.inc({ outcome }),
    malformedRequest: (status) => malformed.inc({ status }),
  }
}
