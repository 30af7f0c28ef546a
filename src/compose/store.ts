import { type Configuration, placeOf } from '../config/index.ts'
import { type DatabaseTarget, serverOf } from '../database/index.ts'
import { lookup } from '../platform/runtime/index.ts'
import type { ClientSpans } from '../platform/tracing/index.ts'

export function databaseTarget(
  settings: Configuration,
  onFailure: (error: unknown) => void,
  onWorking: () => void = () => undefined,
  onDiskFull: (isFull: boolean) => void = () => undefined,
  spans: ClientSpans | null = null,
): DatabaseTarget {
  const url = settings.databaseUrl?.reveal() ?? null
  const trace = spans?.traceStatements(url)
  return url !== null
    ? {
        kind: 'postgres',
        url,
        ...settings.database,
        lookup,
        trace,
        onConnectionBroken: onFailure,
        watch: { failed: onFailure, works: onWorking },
      }
    : {
        kind: 'embedded',
        directory: settings.dataDirectory,
        isDurable: settings.profile === 'production',
        ...settings.database,
        trace,
        onDiskFull,
      }
}

/** Contains no credentials: `postgresql db:5432/portico`, or `embedded /var/lib/portico`. */
export function storeName({ databaseUrl, dataDirectory }: Configuration): string {
  if (!databaseUrl) return `embedded ${dataDirectory}`
  return `postgresql ${serverOf(databaseUrl.reveal())}`
}

/** Where this process keeps and sends its data, without credentials. */
export function placesOf(settings: Configuration) {
  return {
    store: storeName(settings),
    redis: settings.redisUrl ? hostOf(settings.redisUrl) : 'none',
    mail: settings.smtpUrl ? hostOf(settings.smtpUrl) : 'development outbox',
    domains: Object.fromEntries(
      Object.keys(settings.backends).map((name) => {
        const place = placeOf(settings, name)
        return [name, place === 'in-process' ? place : new URL(place.url).origin]
      }),
    ),
  }
}

function hostOf(url: { reveal(): string }): string {
  return new URL(url.reveal()).host
}
