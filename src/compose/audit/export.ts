import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Configuration } from '../../config/index.ts'
import {
  auditExportJob,
  readExportLag,
  recordSetting,
  type SendEntries,
  sendToWebhook,
  toLines,
} from '../../platform/audit/index.ts'
import { faultReport } from '../../platform/dependency-log.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { createAuditExportMetrics, writeLines } from '../../platform/telemetry/index.ts'
import { createWebhookSender, parseWebhookSecret } from '../../platform/webhooks/index.ts'
import type { Infrastructure } from '../infrastructure.ts'

type Export = Configuration['audit']['export']

export function auditExportJobs(
  { audit }: Pick<Configuration, 'audit'>,
  infrastructure: Infrastructure,
  logger: Logger,
): JobKind[] {
  const send = senderOf(audit.export, infrastructure, logger)
  return send ? [auditExportJob({ ...infrastructure, send })] : []
}

/** Records where entries go, because a change of the setting can end the export. */
export async function startAuditExport(
  { audit }: Pick<Configuration, 'audit'>,
  infrastructure: Infrastructure,
  { logger, registry }: { logger: Logger; registry: Registry },
): Promise<void> {
  const { to } = audit.export
  const value = typeof to === 'string' ? { to } : describeUrl(to.reveal())
  await recordSetting(infrastructure, { name: 'audit.export', value, initial: { to: 'off' } })
  createAuditExportMetrics(registry, {
    readLag: async () => (to === 'off' ? { entries: 0, oldestAt: null } : readExportLag(infrastructure.database)),
    clock: infrastructure.clock,
    onFault: faultReport(infrastructure, logger, 'audit entries that were not exported could not be counted'),
  })
}

function senderOf({ to, secret }: Export, { clock, durations }: Infrastructure, logger: Logger): SendEntries | null {
  if (to === 'off') return null
  if (to === 'stdout') return (entries, signal) => writeLines(logger, toLines(entries), signal)
  const key = secret && parseWebhookSecret(secret.reveal())
  if (!key) throw new TypeError('audit.export.secret is not a secret of webhooks')
  return sendToWebhook(createWebhookSender({ clock, durations, rules: null }), { url: to.reveal(), secret: key })
}

/** The path and the query can contain a key, and can alone choose who receives the entries. */
function describeUrl(url: string): { to: string; urlDigest: string } {
  return { to: new URL(url).origin, urlDigest: createHash('sha256').update(url).digest('hex').slice(0, 8) }
}
