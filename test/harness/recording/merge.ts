import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isJsonObject, type Json } from '../../../src/openapi/json.ts'
import type { Exchanged, Observation } from './observation.ts'

const examplesFile = new URL('../../../docs/examples.json', import.meta.url)

/** These inject faults or use stubs. Other files' examples take precedence. */
const odd = /^(upstream|observing|example-service|parsing|framing|perimeter|not-impl|replicas|secrets|whole-way)/

function isEmpty(data: Json | undefined): boolean {
  if (Array.isArray(data)) return data.length === 0
  const list = isJsonObject(data) && (data.items ?? data.events)
  if (Array.isArray(list)) return list.length === 0
  return data === null
}

/** Lower is better. */
function poverty({ chainId, exchanged: { reply } }: Observation & { kind: 'success' }): number {
  return (isJsonObject(reply) && isEmpty(reply.data) ? 2 : 0) + (chainId === 'api' ? 1 : 0)
}

function sorted<T>(map: ReadonlyMap<string, T>): Record<string, T> {
  return Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Null when recording is off. */
export function openRecordings(): { folder: string | null; merge(): void } {
  if (process.env.RECORD_EXAMPLES !== '1') return { folder: null, merge: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'portico-examples-'))
  return {
    folder,
    /**
     * Keeps the best example of each operation and the first of each refusal. The name order makes this reproducible.
     */
    merge: () => {
      const names = readdirSync(folder).toSorted()
      const files = [...names.filter((name) => !odd.test(name)), ...names.filter((name) => odd.test(name))]
      const operations = new Map<string, { poor: number; exchanged: Exchanged }>()
      const refusals = new Map<string, Json>()
      for (const name of files) {
        const seen: Observation[] = JSON.parse(readFileSync(join(folder, name), 'utf8'))
        for (const each of seen) {
          if (each.kind === 'refusal') {
            if (!refusals.has(each.code)) refusals.set(each.code, each.reply)
            continue
          }
          const poor = poverty(each)
          if (poor < (operations.get(each.operationId)?.poor ?? Number.POSITIVE_INFINITY))
            operations.set(each.operationId, { poor, exchanged: each.exchanged })
        }
      }
      const chosen = new Map([...operations].map(([id, { exchanged }]) => [id, exchanged]))
      const text = JSON.stringify({ operations: sorted(chosen), refusals: sorted(refusals) }, null, 2)
      writeFileSync(examplesFile, `${text}\n`)
      rmSync(folder, { recursive: true })
    },
  }
}
