import * as z from 'zod'
import { operation } from '../kernel/index.ts'
import { bizId, coded, codeOf, id, listQuery, page, text, timestamp } from './common.ts'
import { operator } from './policies.ts'

/** `sequence` and the hashes, in hex, are null until the entry is sealed into the chain. */
const AuditEntry = z.object({
  bizId,
  sequence: z.int().nullable(),
  at: timestamp,
  portal: coded('accountPortal'),
  actorBizId: bizId.nullable(),
  workspaceBizId: bizId.nullable(),
  action: z.string(),
  targetBizId: z.string().nullable(),
  outcome: coded('auditOutcome'),
  requestId: z.string(),
  clientIp: z.string(),
  detail: z.record(z.string(), z.unknown()),
  previousHash: z.string().nullable(),
  hash: z.string().nullable(),
})

const ChainVerification = z.object({
  intact: z.boolean(),
  entriesChecked: z.int(),
  firstBrokenSequence: z.int().nullable(),
  checkedAt: timestamp,
})

const get = {
  method: 'GET',
  chains: ['system'],
  policy: { ...operator, permission: 'audit:read' },
  body: 'none',
  refuses: [],
} as const

export const listAuditLog = operation({
  ...get,
  id: 'operators.listAuditLog',
  path: '/audit-log',
  summary: 'What was done, by whom, by filter',
  query: listQuery(['at'], {
    actorId: id.optional(),
    workspaceId: id.optional(),
    action: text(64).optional(),
    // An id in capitals is the same id; what is no id is looked for as it is.
    targetId: text(64)
      .overwrite((target) => id.safeParse(target).data ?? target)
      .optional(),
    outcome: codeOf('auditOutcome').optional(),
  }),
  reply: page(AuditEntry),
})

export const verifyAuditLog = operation({
  ...get,
  id: 'operators.verifyAuditLog',
  path: '/audit-log/verify',
  summary: 'Whether the audit log’s hash chain is unbroken',
  reply: ChainVerification,
})
