/**
 * Spans of calls to PostgreSQL and Redis, and of jobs (client-spans.ts), and their export by OTLP (export.ts). Uses the
 * OpenTelemetry API, and imports its SDK only to export. Depends on the database, platform/redis and platform/runtime.
 */
import type { Logger } from 'pino'
import type { Process } from './export.ts'

export type { Process } from './export.ts'

export type ClientSpans = typeof import('./client-spans.ts') & { close(): Promise<void> }

interface Settings {
  tracing: { enabled: boolean }
  otlpEndpoint: string | null
}

/** Null if tracing is disabled: loading takes time. */
export async function openTracing(
  { tracing, otlpEndpoint }: Settings,
  process: Process,
  logger: Logger,
): Promise<ClientSpans | null> {
  if (!tracing.enabled) return null
  const spans = await import('./client-spans.ts')
  if (otlpEndpoint === null) return { ...spans, close: async () => undefined }
  const { startExport } = await import('./export.ts')
  return { ...spans, close: await startExport(process, logger) }
}
