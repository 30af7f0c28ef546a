import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const recordId = '01990000-0000-7000-8000-000000000042'

/** Path of the last generated operation, without the chain's prefix. */
export function lastPath(operations: number): string {
  return `/records-${operations - 1}/${recordId}`
}

/** Ten operations share a refusal code. Each operation has separate schemas, like a hand-written one. */
function moduleOf(operations: number): string {
  return `
import { domain, Refusal } from 'portico'
import { bizId, id, member, operation, timestamp, z } from 'portico/contract'

const numbers = Array.from({ length: ${operations} }, (_, number) => number)
const codeOf = (number) => 'RECORD.UNAVAILABLE_' + Math.floor(number / 10)

const declare = (number) =>
  operation({
    id: 'records.read' + number,
    method: 'GET',
    path: '/records-' + number + '/{record_id}',
    chains: ['consumer', 'api'],
    summary: 'Read record ' + number,
    policy: { ...member, workspace: 'required', permission: 'record:read' },
    params: { record_id: id },
    query: z.strictObject({ detail: z.enum(['short', 'full']).optional() }),
    body: 'none',
    reply: z.object({
      bizId,
      name: z.string(),
      ['amount' + number]: z.string(),
      tags: z.array(z.object({ key: z.string(), value: z.string() })),
      createdAt: timestamp,
    }),
    refuses: [codeOf(number)],
  })

const handle = (number) => async ({ params, query }) => {
  if (query.detail === 'short') throw new Refusal(codeOf(number))
  return {
    bizId: params.record_id,
    name: 'Record',
    ['amount' + number]: '1.00',
    tags: [{ key: 'number', value: String(number) }],
    createdAt: '2026-01-01T00:00:00.000Z',
  }
}

const byName = (create) => Object.fromEntries(numbers.map((number) => ['readRecord' + number, create(number)]))

export default domain({
  name: 'records',
  summary: 'Generated operations.',
  operations: byName(declare),
  permissions: { workspace: { record: ['read'] } },
  codes: Object.fromEntries(numbers.map((number) => [codeOf(number), { status: 422 }])),
  locales: new URL('./locales/', import.meta.url),
  create: () => ({ handlers: byName(handle) }),
})
`
}

function textsOf(operations: number): string {
  const codes = Array.from({ length: Math.ceil(operations / 10) }, (_, code) => code)
  const refusals = codes.map((code) => `  RECORD.UNAVAILABLE_${code}: the records of group ${code} are not available`)
  const permission = '  record:read: { name: View records, description: See the records of the workspace }'
  return ['refusal:', ...refusals, 'permission:', permission, ''].join('\n')
}

/** Writes an extension with this number of GET operations. Returns the path of its module. */
export function writeExtension(folder: string, operations: number): string {
  mkdirSync(join(folder, 'locales'), { recursive: true })
  const file = join(folder, 'index.mjs')
  writeFileSync(file, moduleOf(operations))
  writeFileSync(join(folder, 'locales', 'en.yaml'), textsOf(operations))
  return file
}
