import { access } from 'node:fs/promises'
import { z } from 'zod'
import { loadConfigured } from '../../compose/extensions.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { type Configuration, loadConfiguration } from '../../config/index.ts'
import { toIso } from '../../kernel/index.ts'
import { ledgerArchiveRules } from '../../ledger/index.ts'
import { auditArchiveRules } from '../../platform/audit/index.ts'
import {
  type ArchivedTable,
  type ArchiveRules,
  archiveOldest,
  findArchivable,
  minimumAgeDays,
} from '../../platform/partitions/index.ts'
import { systemClock } from '../../platform/runtime/index.ts'
import {
  type Command,
  onlyOneProcess,
  parseOptions,
  reasonHelp,
  reasonOption,
  reasonText,
  UsageError,
} from '../command.ts'
import { auditCommand, withExistingStore } from '../store.ts'

const tables: Readonly<Record<string, ArchivedTable>> = {
  ledger: 'ledger_entries',
  audit: 'audit_log',
  'sign-ins': 'login_history',
}

const Options = z.object({
  reason: reasonText,
  out: z.string({ error: '--out is required: an existing folder for the file' }).min(1),
  'older-than': z.coerce
    .number()
    .int()
    .min(minimumAgeDays, `--older-than must be at least ${minimumAgeDays} days`)
    .default(400),
  'dry-run': z.boolean().default(false),
})

export const archive: Command = {
  name: 'archive',
  argument: 'table',
  summary: 'move the oldest partition of a table to a file',
  help: [
    'portico archive <table> --out folder --reason text',
    '',
    'table                    ledger, audit or sign-ins',
    '  --out folder             existing folder for the file <partition>.jsonl, with one JSON object per row',
    `  --older-than days        age of the youngest row, at least ${minimumAgeDays}; default 400`,
    '  --dry-run                print the partition and change nothing',
    reasonHelp,
    '',
    'Checks the entries, writes the file, reads it again, and records its SHA-256 with what later checks start with. Then',
    'drops the partition without a lock that stops requests. Run it again after an interruption, and for the next',
    'partition. Needs the role that owns the tables, and a direct connection instead of PgBouncer. Copy the file before',
    'you delete backups: the store cannot read it. Exit code 1 if no partition is old enough.',
    onlyOneProcess,
  ].join('\n'),
  options: {
    out: { type: 'string' },
    'older-than': { type: 'string' },
    'dry-run': { type: 'boolean' },
    ...reasonOption,
  },
  run: async ({ table: name, ...values }, { domains, variables, print, stderr }) => {
    const settings = loadConfiguration(variables, domains)
    const table = typeof name === 'string' ? tables[name] : undefined
    if (!table) throw new UsageError(`the table must be one of ${Object.keys(tables).join(', ')}`)
    const { reason, out, 'older-than': olderThanDays, 'dry-run': isDryRun } = parseOptions(Options, values)
    await access(out).catch(() => Promise.reject(new UsageError(`--out: the folder ${out} does not exist`)))
    const { owners } = await loadConfigured(domains, settings)
    const age = { clock: systemClock, olderThanDays }
    return withExistingStore(settings, async (store) => {
      if (isDryRun) {
        const found = await findArchivable(store.database, table, age)
        const partition = found ? { name: found.name, until: toIso(found.upper) } : null
        print(
          { archived: null, partition },
          partition ? `${partition.name}: rows before ${partition.until}\n` : nothing,
        )
        return partition ? 0 : 1
      }
      await migrateStore(store, owners, settings)
      const rules = withAudit(rulesOf(table, settings), { command: archive.name, reason })
      const archived = await store.inOwnSession((database) =>
        archiveOldest(table, {
          ...{ database, ...age, rules, folder: out },
          onWritten: (file, rows) => stderr.write(`${rows} rows in ${file}\n`),
        }),
      )
      const result = archived && { ...archived, upper: toIso(archived.upper) }
      print(
        { archived: result ?? null },
        result ? `${result.name}: ${result.rows} rows in ${result.file}\nsha256: ${result.sha256}\n` : nothing,
      )
      return result ? 0 : 1
    })
  },
}

const nothing = 'no partition is old enough\n'

function rulesOf(table: ArchivedTable, settings: Configuration): ArchiveRules {
  if (table === 'ledger_entries') return ledgerArchiveRules
  if (table === 'audit_log') return auditArchiveRules(settings.audit.export.to !== 'off')
  return { check: async () => undefined, record: async () => undefined }
}

/** The entry is in the chain behind the archived ones. */
function withAudit(rules: ArchiveRules, audited: { command: string; reason: string }): ArchiveRules {
  return {
    check: rules.check,
    record: async (tx, partition) => {
      await rules.record(tx, partition)
      const { name, rows, file, sha256 } = partition
      await auditCommand(tx, audited, { targetId: name, detail: { rows: String(rows), file, sha256 } })
    },
  }
}
